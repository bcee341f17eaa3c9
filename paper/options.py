"""The options that a results folder was made with, and by which code: kept in it, so that results are never mixed."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import understudy
from understudy.errors import ResultsError
from understudy.runs.describing import differences
from understudy.runs.folder import read_json, write_text
from understudy.runs.graph import digest

FILE = "paper.json"
UNKNOWN = "unknown"
SOURCES = {"understudy": Path(understudy.__file__).parent, "paper": Path(__file__).parent}
PRESENTING = (
    "understudy/cli", "understudy/demo.py", "understudy/evaluation", "understudy/results.py", "understudy/reporting",
    "paper/__main__.py", "paper/concept_figure.py", "paper/continuous_claims.py", "paper/continuous_tables.py",
    "paper/curve_figures.py", "paper/discrete_claims.py", "paper/discrete_tables.py",
    "paper/fidelity_and_efficiency.py", "paper/items.py", "paper/maps.py", "paper/page.py", "paper/range_figure.py",
    "paper/set_tables.py", "paper/verdicts.py", "paper/writing.py",
)  # fmt: skip
"""Sources that runs do not depend on: claims, figures and pages are made anew by each call."""


@dataclass(frozen=True)
class Options:
    """The options that all items of a folder share. The number of runs and of workers may differ."""

    quick: bool = False
    authors: bool = False
    search: bool = False
    seed: int = 0

    @property
    def folder(self) -> Path:
        """The results folder by default; `paper` alone is the folder of these sources.

        >>> Options().folder.name, Options(quick=True, search=True, seed=3).folder.name
        ('paper-results', 'paper-quick-search-seed-3')
        """
        flags = [f"-{name}" for name in ("quick", "authors", "search") if getattr(self, name)]
        flags += [f"-seed-{self.seed}"] if self.seed else []
        return Path("paper" + ("".join(flags) or "-results"))


def take_folder(folder: Path, options: Options, names: Sequence[str], code: str) -> list[str]:
    """Make a results folder, or check that it is one of the same options, and keep in it which code is run now.

    Return the digests of all codes that results in it were made by, this one the last. Raise `ResultsError` where the
    folder holds results of other options.
    """
    kept = kept_in(folder, names)
    apart = [phrase for there in kept["asked"] for phrase in differences(there, asdict(options))]
    if apart:
        found = f"{folder} holds results of another call: {'; '.join(dict.fromkeys(apart))}"
        raise ResultsError(f"{found}; give another folder with out=, or remove it")
    codes = [*(other for other in kept["code"] if other != code), code]
    make_folder(folder)
    write_text(folder / FILE, json.dumps({"asked": asdict(options), "code": codes}, indent=1))
    return codes


def kept_in(folder: Path, names: Sequence[str]) -> dict[str, list[Any]]:
    """Return the options ("asked") and the codes ("code") of a folder; in older ones, items have the options."""
    if (folder / FILE).exists():
        content = read_json(folder / FILE)
        if not isinstance(content.get("asked"), dict) or not isinstance(content.get("code"), list):
            raise ResultsError(f"{folder / FILE} does not say what was asked; give another folder, or remove it")
        return {"asked": [content["asked"]], "code": content["code"]}
    items = [read_json(file) for name in names if (file := folder / name / "item.json").exists()]
    asked = [asdict(Options()) | shared(item["asked"]) for item in items if isinstance(item.get("asked"), dict)]
    return {"asked": asked, "code": [UNKNOWN] if any((folder / name).exists() for name in names) else []}


def shared(asked: dict[str, Any]) -> dict[str, Any]:
    """Return those options of an item that all items of a folder share."""
    return {name: value for name, value in asked.items() if name in asdict(Options())}


def n_codes(folder: Path) -> int:
    """Return how many versions of the code the results of a folder were made by."""
    return len(kept_in(folder, ())["code"])


def code_of(sources: dict[str, Path] = SOURCES) -> str:
    """Return a digest of the sources that runs depend on."""
    files = {
        f"{name}/{file.relative_to(package).as_posix()}": file
        for name, package in sources.items()
        for file in package.rglob("*.py")
    }
    counted = sorted(place for place in files if not place.startswith(PRESENTING))
    return digest(b"".join(place.encode() + files[place].read_bytes() for place in counted))


def make_folder(folder: Path) -> None:
    """Make a folder. Raise `ResultsError` where that is not possible."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ResultsError(f"cannot make the folder {folder}: {error.strerror}; give another") from error
