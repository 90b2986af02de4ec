"""Kernels that speak through socket files instead of TCP ports.

Ports are chosen before the kernel binds them, so that of several kernels that start together one can find its port
taken and die. A socket file has a name of its own. It is named relative to the working directory, which runner and
kernel share, because the system allows about a hundred bytes for the name and checkouts can lie deep.
"""

import os
import uuid
from pathlib import Path

from jupyter_client.manager import AsyncKernelManager


class SocketKernelManager(AsyncKernelManager):
    def __init__(self, **settings):
        super().__init__(**settings)
        runtime = Path(os.environ["JUPYTER_RUNTIME_DIR"])
        name = uuid.uuid4().hex[:12]
        self.transport = "ipc"
        self.connection_file = str(runtime / f"{name}.json")
        self.ip = os.path.relpath(runtime / name)
