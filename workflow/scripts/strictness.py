"""What an executed notebook may not hold: anything that a second build would print differently."""

import re
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,16}\b")
CLOCK = re.compile(r"\b\d{1,2}:[0-5]\d:[0-5]\d\b|\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d")
EPOCH = re.compile(r"(?<![\d.])(\d{10})(?:\.\d+)?(?!\d)")
# Folders below which nothing of a checkout may be named, on any machine.
PRIVATE = re.compile(
    r"(?<![\w.<:/-])/(?:home|Users|root|tmp|private|var/folders|opt|mnt|srv|workspace|nix)/[^\s'\"<>]*"
)
DATE_STYLES = ("%Y-%m-%d", "%d/%m/%Y", "%m/%d/%Y", "%d %b %Y", "%d %B %Y", "%B %d, %Y", "%b %d, %Y")


def faults(text: str, root: Path, now: datetime | None = None) -> list[str]:
    """Every reason why `text` would not be the same in another place or at another time."""
    now = now or datetime.now(UTC)
    found = [f"a memory address: {match}" for match in ADDRESS.findall(text)]
    found += [f"an absolute path: {path}" for path in _paths(text, root)]
    found += [f"a clock time: {match}" for match in CLOCK.findall(text)]
    found += [f"a clock time: {text[m.start() : m.end()]}" for m in EPOCH.finditer(text) if _is_now(m, now)]
    found += [f"today's date: {date}" for date in sorted(_dates_around(now)) if _whole(date, text)]
    return list(dict.fromkeys(found))


def _paths(text: str, root: Path) -> Iterator[str]:
    known = {root, root.resolve(), Path.home(), Path(tempfile.gettempdir()), Path(sys.prefix)}
    for folder in sorted({str(path) for path in known if path != path.parent}):
        if re.search(rf"(?<![\w.<-]){re.escape(folder)}(?![\w-])", text):
            yield folder
    yield from PRIVATE.findall(text)


def _is_now(match: re.Match, now: datetime) -> bool:
    """A ten-digit number is a time stamp only if it says about now; a model may well have 8030261248 weights."""
    return abs(int(match[1]) - now.timestamp()) < 2 * 86400


def _dates_around(now: datetime) -> set[str]:
    """Dates of sources are facts and stay; only the day of the build itself is a clock reading."""
    days = [now + timedelta(days=shift) for shift in (-1, 0, 1)]
    styles = [*DATE_STYLES, *(style.replace("%d", "%-d") for style in DATE_STYLES if style != "%Y-%m-%d")]
    return {day.strftime(style) for day in days for style in styles}


def _whole(date: str, text: str) -> bool:
    return re.search(rf"(?<!\d){re.escape(date)}(?!\d)", text) is not None


def texts(output) -> Iterator[str]:
    """The readable parts of one output of a cell; pictures in base64 can hold any letters by chance."""
    if output.output_type == "stream":
        yield output.text
    for kind, content in output.get("data", {}).items():
        if kind.startswith(("text/", "application/json", "image/svg")):
            yield content if isinstance(content, str) else repr(content)
