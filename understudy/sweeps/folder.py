"""The results folder of a sweep: tables of Parquet files in hive partitions, written whole or not at all.

DIR/sweep.json       what all combinations share: seed, max_steps, every
DIR/experiments/learner=.../simulator=.../encoder=.../log=.../experiment.json
                     what was run: the fields of `runs.About`, and what each part was, to refuse another by its name
DIR/runs/learner=.../simulator=.../encoder=.../log=.../part-*.parquet     a row for each run; failed-*.parquet: for each
                     run that raised, until it is made
DIR/curves/learner=.../simulator=.../encoder=.../log=.../part-*.parquet   a row for each reading of a probe
DIR/lock             held by the process that writes

Runs are gathered, so that a file has many. A part of `curves` is written before the part of `runs` of the same name,
which marks it as kept; one without it is of a process that died, and is removed by the next.
"""

import json
import os
import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from understudy.errors import ResultsError
from understudy.locks import take_lock
from understudy.runs.checking import check_about, expect
from understudy.runs.describing import differences
from understudy.runs.folder import FORMAT, read_sealed, seal, write_file, write_text
from understudy.storage import error_reason
from understudy.sweeps.names import KEYS, Combination, combination_of, partition_of
from understudy.sweeps.run_tables import schema_of

if TYPE_CHECKING:
    import pyarrow as pa

TABLES = ("runs", "curves")


class SweepFolder:
    """The results folder of a sweep."""

    def __init__(self, path: Any) -> None:
        self.path = Path(path)

    @property
    def marker(self) -> Path:
        """The file that makes a folder that of a sweep."""
        return self.path / "sweep.json"

    def settings(self) -> dict[str, Any]:
        """Return what all combinations share. Raise `ResultsError` where this is not the folder of a sweep."""
        if not os.path.lexists(self.marker):
            raise ResultsError(f"{self.path} is not the folder of a sweep: it has no sweep.json; give a sweep's out=")
        content = read_sealed(self.marker, "give another folder, or remove this one")
        try:
            return expect("settings", content.get("settings"), "a table")
        except ValueError as error:
            raise ResultsError(f"{self.marker} is not of a sweep: {error}; give another folder") from error

    @contextmanager
    def held(self, settings: Mapping[str, Any]) -> Iterator[None]:
        """Context manager: the folder is made, and this process alone writes to it.

        Raise `ResultsError` where it is of another sweep, holds something else, or another process writes to it.
        """
        with ExitStack() as stack:
            try:
                if not self.marker.exists() and self.path.exists() and set(os.listdir(self.path)) - {"lock"}:
                    raise ResultsError(
                        f"{self.path} exists and is not the folder of a sweep; give another, or remove it"
                    )
                self.path.mkdir(parents=True, exist_ok=True)
                stack.enter_context(_locked(self.path / "lock"))
                if not self.marker.exists():
                    write_text(self.marker, _sealed_text({"settings": dict(settings)}))
            except OSError as error:
                raise ResultsError(f"cannot make {self.path}: {error_reason(error)}; give another folder") from error
            if found := differences(self.settings(), settings):
                raise ResultsError(
                    f"{self.path} holds another sweep: {'; '.join(found)}; give another folder, or remove it"
                )
            yield

    def experiments(self) -> dict[Combination, dict[str, Any]]:
        """Return what was run, for each combination that was begun: `about` and `parts`."""
        root = self.path / "experiments"
        files = sorted(root.glob("*/*/*/*/experiment.json"))
        return {combination_of(str(file.parent.relative_to(root))): _experiment(file) for file in files}

    def combinations(self) -> list[Combination]:
        """Return the combinations that were begun, those included whose parts could not be made."""
        roots = (self.path / "experiments", self.path / "runs")
        folders = {str(path.relative_to(root)) for root in roots for path in root.glob("*/*/*/*") if path.is_dir()}
        return sorted(map(combination_of, folders))

    def experiment(self, combination: Combination) -> dict[str, Any]:
        """Return what was run in a combination: `about` and `parts`."""
        return _experiment(self.path / "experiments" / combination.partition / "experiment.json")

    def files(self, table: str, **names: str) -> list[Path]:
        """Return the Parquet files of a table, or those of the combinations with these names."""
        folders = (partition_of(key, names[key]) if key in names else "*" for key in KEYS)
        return sorted((self.path / table).glob("/".join([*folders, "*.parquet"])))

    def write_experiment(self, combination: Combination, content: Mapping[str, Any]) -> None:
        """Write what is run in a combination."""
        file = self._folder("experiments", combination) / "experiment.json"
        write_text(file, _sealed_text({"names": combination._asdict(), **content}))

    def clean(self, combination: Combination) -> None:
        """Remove what a process that died left of a combination: files half-written, and readings without their run."""
        kept = {path.name for path in self._files("runs", combination)}
        for table in TABLES:
            for path in (self.path / table / combination.partition).glob(".*"):
                path.unlink(missing_ok=True)
        for path in self._files("curves", combination):
            if path.name not in kept:
                path.unlink(missing_ok=True)
        self.drop_failures(combination, self.finished(combination))

    def finished(self, combination: Combination) -> set[int]:
        """Return the numbers of the runs that were kept."""
        return set(self._numbers(self._files("runs", combination)))

    def failed(self, combination: Combination) -> set[int]:
        """Return the numbers of the runs that raised and were not made since."""
        return set(self._numbers(self._files("runs", combination, "failed")))

    def write(self, combination: Combination, runs: "pa.Table", curves: "pa.Table") -> None:
        """Keep finished runs: their readings first, and then what marks them as kept."""
        name = f"part-{secrets.token_hex(8)}.parquet"
        readings, marker = self._folder("curves", combination) / name, self._folder("runs", combination) / name
        try:
            _write_table(readings, curves)
            _write_table(marker, runs)
        except BaseException:  # also Ctrl-C: no half of a part stays
            if not marker.exists():
                with suppress(OSError):
                    readings.unlink(missing_ok=True)
            raise

    def write_failures(self, combination: Combination, failures: "pa.Table") -> None:
        """Keep runs that raised, until they are made."""
        _write_table(self._folder("runs", combination) / f"failed-{secrets.token_hex(8)}.parquet", failures)

    def drop_failures(self, combination: Combination, numbers: Iterable[int]) -> None:
        """Forget that these runs raised: they have been made since, or have raised again. Others are kept once."""
        files = self._files("runs", combination, "failed")
        if not files:
            return
        import pyarrow as pa

        tables = [_read_table(file, None) for file in files]
        seen, kept, changed = set(numbers), [], False
        for table in tables:
            found = table["number"].to_pylist()
            kept.append(table.filter(pa.array([number not in seen for number in found], pa.bool_())))
            seen.update(found)
            changed |= len(kept[-1]) < len(table)
        if changed:
            if left := [table for table in kept if len(table)]:
                self.write_failures(combination, pa.concat_tables(left))
            for file in files:
                file.unlink(missing_ok=True)

    def _numbers(self, files: Iterable[Path]) -> Iterator[int]:
        for file in files:
            yield from _read_table(file, ["number"])["number"].to_pylist()

    def _files(self, table: str, combination: Combination, kind: str = "part") -> list[Path]:
        return [path for path in self.files(table, **combination._asdict()) if path.name.startswith(f"{kind}-")]

    def _folder(self, table: str, combination: Combination) -> Path:
        folder = self.path / table / combination.partition
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except (OSError, ValueError) as error:
            raise ResultsError(f"cannot make the folder {folder}: {error_reason(error)}; give another") from error
        return folder


def is_sweep(path: Any) -> bool:
    """True if a path is the results folder of a sweep."""
    return os.path.exists(Path(path) / "sweep.json")


def _experiment(file: Path) -> dict[str, Any]:
    advice = "remove it, and call the sweep again"
    content = read_sealed(file, advice)
    try:
        check_about(content.get("about"))
        expect("parts", content.get("parts"), "a table")
    except ValueError as error:
        raise ResultsError(f"{file} does not say what was run: {error}; {advice}") from error
    return content


def _sealed_text(content: Mapping[str, Any]) -> str:
    return json.dumps(seal({"format": FORMAT, **content}), indent=1, allow_nan=False)


def _write_table(path: Path, table: "pa.Table") -> None:
    import pyarrow.parquet as pq

    write_file(path, partial(pq.write_table, table, compression="snappy", write_page_checksum=True))


def _read_table(path: Path, columns: list[str] | None) -> "pa.Table":
    """Return a table of runs. Raise `ResultsError` where its file is damaged."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = schema_of("runs")
    try:
        table = pq.read_table(path, columns=columns, page_checksum_verification=True, partitioning=None)
        return table.cast(schema if columns is None else pa.schema([schema.field(name) for name in columns]))
    except Exception as error:  # a damaged file can raise anything
        raise ResultsError(
            f"{path} cannot be read ({error_reason(error)}); remove it, and call the sweep again to make its runs anew"
        ) from error


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Context manager: this process alone writes to the folder. Raise `ResultsError` where another one does.

    Where there are no locks, nobody is kept away.
    """
    with path.open("ab") as file:
        try:
            take_lock(file, wait=False)
        except BlockingIOError:
            raise ResultsError(
                f"another process is writing to {path.parent}; wait until it is finished, or give another folder"
            ) from None
        yield
