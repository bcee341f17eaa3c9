"""Short names of folders, by what differs between their paths, and lists of names in sentences."""

from collections.abc import Iterable, Sequence
from pathlib import Path


def quoted(names: Iterable[str], most: int | None = None) -> str:
    """Return names in a sentence, at most so many of them; names may have commas of their own.

    >>> quoted(["PSRS, states", "QBE", "real"]), quoted(["a", "b", "c"], most=2)
    ('“PSRS, states”, “QBE”, “real”', '“a”, “b”, ...')
    """
    listed = [f"“{name}”" for name in names]
    return ", ".join(listed if most is None or len(listed) <= most else [*listed[:most], "..."])


def names_of(folders: Sequence[Path]) -> list[str]:
    """Return a name for each of these distinct folders: the parts of its path that not all of them share.

    >>> names_of([Path("2021/out/psrs"), Path("2022/out/psrs")])
    ['2021', '2022']
    >>> names_of([Path("2021/out/psrs"), Path("2021/out/qbe"), Path("2022/out/psrs")])
    ['2021/psrs', '2021/qbe', '2022/psrs']
    >>> names_of([Path("out/psrs")])
    ['psrs']
    """
    paths = [folder.absolute().parts for folder in folders]
    if len(paths) == 1:
        return [paths[0][-1]]
    shortest = min(map(len, paths))
    start = next((place for place in range(shortest) if _differ(paths, place)), shortest)
    if len({len(path) for path in paths}) == 1:
        places = [place for place in range(start, shortest) if _differ(paths, place)]
        names = ["/".join(path[place] for place in places) for path in paths]
    else:
        names = ["/".join(path[start:]) or path[-1] for path in paths]
    return names if len(set(names)) == len(names) else [str(folder) for folder in folders]


def _differ(paths: Sequence[tuple[str, ...]], place: int) -> bool:
    return len({path[place] for path in paths}) > 1
