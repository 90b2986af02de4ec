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
CHANGED = Path("data/hardware/b200.yaml")
# In turn, so that each run changes the value again; by so little that the paper's printed figures, which the
# notebooks check, still hold.
BANDWIDTHS = ("8.0 TB/s", "8.0001 TB/s", "8.0002 TB/s", "8.0003 TB/s")

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


def change(folder: Path, run: int) -> tuple[float, list[str]]:
    """Give the bandwidth a new value and build; which notebooks ran?"""
    path = folder / CHANGED
    text = path.read_text(encoding="utf-8")
    # Only the value itself, the first entry under hbm_bandwidth; the readings beside it are other facts.
    pattern = rf"(hbm_bandwidth:\n\s+value: ){re.escape(BANDWIDTHS[run])}"
    edited, count = re.subn(pattern, rf"\g<1>{BANDWIDTHS[run + 1]}", text)
    if count != 1:
        raise SystemExit(f"{CHANGED}: hbm_bandwidth is not {BANDWIDTHS[run]}")
    path.write_text(edited, encoding="utf-8")
    seconds, log = build(folder)
    return seconds, sorted(re.findall(r"^(\w+) done in", log, re.MULTILINE))


def median(name: str, measure: Callable[[int], float]) -> float:
    runs = []
    for run in range(RUNS):
        runs.append(measure(run))
        say(f"  {name}, run {run + 1} of {RUNS}: {runs[-1]:.1f} s")
    return statistics.median(runs)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="kvwall-bench-") as temporary:
        folder = copy(Path(temporary))
        ran: list[str] = []

        def changed(run: int) -> float:
            seconds, ran[:] = change(folder, run)
            return seconds

        say(f"medians of {RUNS} runs on {os.cpu_count()} cores; nothing outside a temporary copy is touched")
        full = median("cold build", lambda run: cold(folder))
        nothing = median("nothing to do", lambda run: build(folder)[0])
        plain = median("plain Python", lambda run: floor(folder))
        one = median("one value changed", changed)
    print(f"cold build --cores {CORES} : plain Python in one process    {full / plain:6.2f}")
    print(f"nothing to do : cold build                       {nothing / full:6.3f}  ({nothing:.1f} s)")
    print(f"one hardware value changed : cold build          {one / full:6.2f}")
    print(f"notebooks run for {CHANGED}, hbm_bandwidth: {len(ran)}")
    for name in ran:
        print(f"  {name}")


if __name__ == "__main__":
    main()
