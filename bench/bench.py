"""How long builds take, as ratios: machines differ. `make bench` runs it; everything happens in a temporary copy."""

import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COPIED = ("Snakefile", "workflow", "profiles", "config", "data", "notebooks", "src")
CORES = "4"
RUNS = 3
# The device that the paper studies feeds most notebooks, another one only those that compare devices.
CHANGED = ("b200", "mi300x")

sys.path.insert(0, str(ROOT / "workflow" / "scripts"))
import kernel_environment  # noqa: E402


def say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


def copy(folder: Path) -> Path:
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("executed"))
        else:
            shutil.copy2(source, folder / name)
    return folder


def clean(folder: Path) -> None:
    for name in ("build", "logs", ".snakemake", "tables", "figures", "ledger", "notebooks/executed"):
        shutil.rmtree(folder / name, ignore_errors=True)


def timed(command: list[str], folder: Path, environment: dict[str, str] | None = None) -> tuple[float, str]:
    began = time.monotonic()
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    seconds = time.monotonic() - began
    if done.returncode:
        say(done.stdout + done.stderr)
        raise SystemExit(f"{' '.join(command)} failed")
    return seconds, done.stdout + done.stderr


def build(folder: Path) -> tuple[float, str]:
    return timed([sys.executable, "-m", "snakemake", "--cores", CORES], folder)


def floor(folder: Path) -> float:
    environment = kernel_environment.kernel_environment(dict(os.environ), folder, folder / "build", folder / "src")
    return timed([sys.executable, str(ROOT / "bench" / "floor.py")], folder, environment)[0]


def cold(folder: Path) -> float:
    clean(folder)
    return build(folder)[0]


def change(folder: Path, device: str) -> tuple[float, list[str]]:
    """Raise a device's bandwidth a little and build; which notebooks ran?"""
    path = folder / "data" / "hardware" / f"{device}.yaml"
    # Only the value itself, the first entry under hbm_bandwidth; the readings beside it are other facts.
    pattern = r"(hbm_bandwidth:\n\s+value: )(\d+\.\d+)"
    text = path.read_text(encoding="utf-8")
    edited, count = re.subn(pattern, lambda match: f"{match[1]}{float(match[2]) + 0.01:.2f}", text)
    if count != 1:
        raise SystemExit(f"{path.name}: hbm_bandwidth is not where it was expected")
    path.write_text(edited, encoding="utf-8")
    seconds, log = build(folder)
    return seconds, sorted(re.findall(r"^(\w+) done in", log, re.MULTILINE))


def median(name: str, measure: Callable[[], float]) -> float:
    runs = []
    for run in range(RUNS):
        runs.append(measure())
        say(f"  {name}, run {run + 1} of {RUNS}: {runs[-1]:.1f} s")
    return statistics.median(runs)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="kvwall-bench-") as temporary:
        folder = copy(Path(temporary))
        ran: dict[str, list[str]] = {}

        def changed(device: str) -> float:
            seconds, ran[device] = change(folder, device)
            return seconds

        say(f"medians of {RUNS} runs on {os.cpu_count()} cores; nothing outside a temporary copy is touched")
        full = median("cold build", lambda: cold(folder))
        nothing = median("nothing to do", lambda: build(folder)[0])
        plain = median("plain Python", lambda: floor(folder))
        one = {device: median(f"one value of {device}", lambda device=device: changed(device)) for device in CHANGED}
    print(f"cold build --cores {CORES} : plain Python in one process    {full / plain:6.2f}")
    print(f"nothing to do : cold build                       {nothing / full:6.3f}  ({nothing:.1f} s)")
    for device, seconds in one.items():
        print(f"bandwidth of {device:8} changed : cold build        {seconds / full:6.2f}")
        print(f"  notebooks run ({len(ran[device])}): {', '.join(ran[device])}")


if __name__ == "__main__":
    main()
