"""The environment a notebook's kernel runs in: everything that could change a result is fixed or cut off here."""

import os
from pathlib import Path

# Fixed for every kernel: hashing, time zone, language, drawing backend, number of threads.
FIXED = {
    "PYTHONHASHSEED": "0",
    "PYTHONNOUSERSITE": "1",
    "TZ": "UTC",
    "LC_ALL": "C.UTF-8",
    "MPLBACKEND": "Agg",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    # A kernel of the build's own environment wins over one that the user has registered.
    "JUPYTER_PREFER_ENV_PATH": "1",
    # ipykernel loads the debugger, which otherwise warns about frozen modules.
    "PYDEVD_DISABLE_FILE_VALIDATION": "1",
}

# Folders of the build in place of the user's own configuration.
FOLDERS = {
    "IPYTHONDIR": "ipython",
    "MPLCONFIGDIR": "matplotlib",
    "JUPYTER_CONFIG_DIR": "jupyter/config",
    "JUPYTER_DATA_DIR": "jupyter/data",
    "JUPYTER_RUNTIME_DIR": "jupyter/runtime",
}

# Inherited values that would reach into a kernel. Without byte code every kernel compiles all imports anew.
DROPPED = (
    "PYTHONDONTWRITEBYTECODE", "PYTHONSTARTUP", "PYTHONWARNINGS", "PYTHONOPTIMIZE", "PYTHONINSPECT",
    "JUPYTER_PATH", "JUPYTER_CONFIG_PATH", "MATPLOTLIBRC", "SOURCE_DATE_EPOCH", "LANG", "LANGUAGE",
)  # fmt: skip


def kernel_environment(inherited: dict[str, str], root: Path, build: Path, source: Path) -> dict[str, str]:
    """The inherited environment without what could change a result, and with what fixes it."""
    environment = {key: value for key, value in inherited.items() if key not in DROPPED}
    environment.update(FIXED)
    environment.update({key: str(build / folder) for key, folder in FOLDERS.items()})
    # A second checkout that borrows this environment must import its own package, not the installed one.
    environment["PYTHONPATH"] = str(source)
    environment["PWD"] = str(root)
    return environment


def apply(root: Path, build: Path, source: Path) -> None:
    """Make this process, and so the kernels it starts, use that environment."""
    wanted = kernel_environment(dict(os.environ), root, build, source)
    os.environ.clear()
    os.environ.update(wanted)
    for key in FOLDERS:
        Path(wanted[key]).mkdir(parents=True, exist_ok=True)
