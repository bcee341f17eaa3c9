"""The results folder of a sweep: tables of Parquet files in hive partitions, written whole or not at all.

DIR/sweep.json       what all combinations share: seed, max_steps, every
DIR/experiments/learner=.../simulator=.../encoder=.../log=.../experiment.json
                     what was run: the fields of `runs.About`, and what each part was, to refuse another by its name
DIR/runs/learner=.../simulator=.../encoder=.../log=.../part-*.parquet     a row for each run; failed-*.parquet: for each
                     run that raised, until it is made
DIR/curves/learner=.../simulator=.../encoder=.../log=.../part-*.parquet   a row for each reading of a probe
DIR/lock             held by the process that writes

Runs are gathered, so that a file has many: part-KEY-DIGEST.parquet. The key is the same in both tables. A part of
`curves` is written before that of `runs`, which marks it as kept; one without it is of a process that died, and is
removed by the next. The digest is of all bytes of the file: Parquet's own checksums are of pages alone, and where a
name in its footer is damaged, a column is read as empty.
"""

import json
import os
import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from understudy.errors import ResultsError
from understudy.locks import take_lock
from understudy.runs.checking import check_about, expect
from understudy.runs.describing import differences, digest
from understudy.runs.folder import FORMAT, read_sealed, seal, write_file, write_text
from understudy.storage import error_reason, read_plain
from understudy.sweeps.names import KEYS, Combination, combination_of, partition_of
from understudy.sweeps.run_tables import schema_of

if TYPE_CHECKING:
    import pyarrow as pa

TABLES = ("runs", "curves")

ANEW = "remove it, and call the sweep again to make its runs anew"
"""What to do about a damaged file."""


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

    def check_files(self, table: str, **names: str) -> None:
        """Raise `ResultsError` where a file of a table is damaged, or readings of runs that were kept are missing."""
        files = self.files(table, **names)
        for file in files:
            _content(file)
        if table == "curves":
            there = {_key(file) for file in files}
            for file in self.files("runs", **names):
                if file.name.startswith("part-") and _key(file) not in there:
                    raise ResultsError(f"the readings of the runs in {file} are missing in {self.path / table}; {ANEW}")

    def write_experiment(self, combination: Combination, content: Mapping[str, Any]) -> None:
        """Write what is run in a combination."""
        file = self._folder("experiments", combination) / "experiment.json"
        write_text(file, _sealed_text({"names": combination._asdict(), **content}))

    def clean(self, combination: Combination) -> None:
        """Remove what a process that died left of a combination: files half-written, and readings without their run."""
        kept = {_key(path) for path in self._files("runs", combination)}
        for table in TABLES:
            for path in (self.path / table / combination.partition).glob(".*"):
                path.unlink(missing_ok=True)
        for path in self._files("curves", combination):
            if _key(path) not in kept:
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
        key = f"part-{secrets.token_hex(8)}"
        readings = _sealed_table(self._folder("curves", combination) / key, curves)
        marker = _sealed_table(self._folder("runs", combination) / key, runs)
        try:
            _write_table(*readings)
            _write_table(*marker)
        except BaseException:  # also Ctrl-C: no half of a part stays
            if not marker[0].exists():
                with suppress(OSError):
                    readings[0].unlink(missing_ok=True)
            raise

    def write_failures(self, combination: Combination, failures: "pa.Table") -> None:
        """Keep runs that raised, until they are made."""
        path = self._folder("runs", combination) / f"failed-{secrets.token_hex(8)}"
        _write_table(*_sealed_table(path, failures))

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


def _key(path: Path) -> str:
    """Return what the files of the same runs have in common: KEY of part-KEY-DIGEST.parquet."""
    return path.stem.partition("-")[2].partition("-")[0]


def _sealed_table(beginning: Path, table: "pa.Table") -> tuple[Path, bytes]:
    """Return the path of a table, whose name begins so and ends with a digest of the content, and the content."""
    import pyarrow.parquet as pq

    stream = BytesIO()
    pq.write_table(table, stream, compression="snappy", write_page_checksum=True)
    content = stream.getvalue()
    return beginning.with_name(f"{beginning.name}-{digest(content)}.parquet"), content


def _write_table(path: Path, content: bytes) -> None:
    write_file(path, lambda beside: beside.write_bytes(content))


def _content(path: Path) -> bytes:
    """Return the bytes of a table. Raise `ResultsError` where they are not those that were written."""
    try:
        content = read_plain(path)
    except OSError as error:
        raise ResultsError(f"{path} cannot be read ({error_reason(error)}); {ANEW}") from error
    recorded = path.stem.split("-")[2:]  # none: a table of an earlier version, or someone's own
    if recorded and recorded != [digest(content)]:
        raise ResultsError(f"{path} is damaged: its content does not match the digest in its name; {ANEW}")
    return content


def _read_table(path: Path, columns: list[str] | None) -> "pa.Table":
    """Return a table of runs. Raise `ResultsError` where its file is damaged."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema, content = schema_of("runs"), _content(path)
    try:
        table = pq.read_table(pa.BufferReader(content), columns=columns, page_checksum_verification=True)
        return table.cast(schema if columns is None else pa.schema([schema.field(name) for name in columns]))
    except Exception as error:  # a damaged file can raise anything
        raise ResultsError(f"{path} cannot be read ({error_reason(error)}); {ANEW}") from error


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
