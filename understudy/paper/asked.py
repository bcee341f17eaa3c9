"""What was asked of a results folder, and by which code: kept in it, so that unlike results never meet there."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from understudy.errors import ResultsError
from understudy.runs.describing import differences
from understudy.runs.folder import read_json, write_text
from understudy.runs.graph import digest

FILE = "paper.json"
UNKNOWN = "unknown"
PACKAGE = Path(__file__).parents[1]
PRESENTING = (
    "cli", "demo.py", "results.py", "reporting", "paper/page.py", "paper/drawing.py", "paper/maps.py",
    "paper/aspects.py", "paper/discrete_claims.py", "paper/discrete_tables.py", "paper/measuring.py", "paper/items.py",
    "paper/writing.py",
)  # fmt: skip
"""Sources that runs do not depend on: what is found, drawn or written with them is made anew by each call."""


@dataclass(frozen=True)
class Asked:
    """What all items of a folder share. How many runs, and on how many workers, may differ."""

    quick: bool = False
    authors: bool = False
    search: bool = False
    seed: int = 0

    @property
    def folder(self) -> Path:
        """Where the results go by default.

        >>> Asked().folder.name, Asked(quick=True, search=True, seed=3).folder.name
        ('paper', 'paper-quick-search-seed-3')
        """
        flags = [f"-{name}" for name in ("quick", "authors", "search") if getattr(self, name)]
        return Path("paper" + "".join(flags) + f"-seed-{self.seed}" * (self.seed != 0))


def claim(folder: Path, asked: Asked, names: Sequence[str], code: str) -> list[str]:
    """Take a folder for what is asked, or refuse it; the codes, ours the last, that its results were made by."""
    kept = kept_in(folder, names)
    apart = [phrase for there in kept["asked"] for phrase in differences(there, asdict(asked))]
    if apart:
        found = f"{folder} holds results of another call: {'; '.join(dict.fromkeys(apart))}"
        raise ResultsError(f"{found}; give another folder with out=, or remove it")
    codes = [*(other for other in kept["code"] if other != code), code]
    make_folder(folder)
    write_text(folder / FILE, json.dumps({"asked": asdict(asked), "code": codes}, indent=1))
    return codes


def kept_in(folder: Path, names: Sequence[str]) -> dict[str, list[Any]]:
    """What was asked here, each time, and the codes that ran; a folder older than this file tells by its items."""
    if (folder / FILE).exists():
        content = read_json(folder / FILE)
        if not isinstance(content.get("asked"), dict) or not isinstance(content.get("code"), list):
            raise ResultsError(f"{folder / FILE} does not say what was asked; give another folder, or remove it")
        return {"asked": [content["asked"]], "code": content["code"]}
    items = [read_json(file) for name in names if (file := folder / name / "item.json").exists()]
    asked = [asdict(Asked()) | shared(item["asked"]) for item in items if isinstance(item.get("asked"), dict)]
    return {"asked": asked, "code": [UNKNOWN] if any((folder / name).exists() for name in names) else []}


def shared(asked: dict[str, Any]) -> dict[str, Any]:
    """Of what was asked of an item, that which all items of a folder share."""
    return {name: value for name, value in asked.items() if name in asdict(Asked())}


def n_codes(folder: Path) -> int:
    """How many versions of the code the results of a folder were made by."""
    return len(kept_in(folder, ())["code"])


def code_of(package: Path = PACKAGE) -> str:
    """A digest of the sources that results depend on."""
    files = sorted(package.rglob("*.py"), key=lambda file: file.relative_to(package).as_posix())
    places = {file.relative_to(package).as_posix(): file for file in files}
    counted = {place: file for place, file in places.items() if not place.startswith(PRESENTING)}
    return digest(b"".join(place.encode() + file.read_bytes() for place, file in counted.items()))


def make_folder(folder: Path) -> None:
    """Make a folder, or say why not."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ResultsError(f"cannot make the folder {folder}: {error.strerror}; give another") from error
