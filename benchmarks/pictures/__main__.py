"""Draws the pictures of README and the documentation into docs/pictures.

python -m benchmarks.pictures          all of them, in a minute or two
python -m benchmarks.pictures queues   one of them
"""

import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks.pictures.accepting import queues, rejection
from benchmarks.pictures.curves import demo, flattering, horizons, luck
from benchmarks.pictures.ladder import rungs
from understudy.storage import write_whole

PICTURES: dict[str, Callable[[], str]] = {
    "demo": demo,
    "queues": queues,
    "rejection": rejection,
    "horizons": horizons,
    "rungs": rungs,
    "luck": luck,
    "flattering": flattering,
}
"""What each picture is drawn by: a function that returns the text of an SVG file."""

FOLDER = Path(__file__).parents[2] / "docs" / "pictures"


def draw(name: str) -> Path:
    """Draw one picture, and return its path."""
    text = PICTURES[name]()
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"{name}.svg"
    write_whole(path, lambda target: Path(target).write_text(text, encoding="utf-8"))
    return path


if __name__ == "__main__":
    for chosen in sys.argv[1:] or PICTURES:
        print(draw(chosen), flush=True)
