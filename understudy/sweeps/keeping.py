"""How a sweep keeps its runs: gathered as they are made, and written now and then, so that a file has many."""

import time
from collections.abc import Mapping, Sequence

from understudy.contracts.streams import spawn
from understudy.errors import RunError
from understudy.progress import Report
from understudy.runs.failures import MOST_NAMED, FailedRun
from understudy.runs.run import KINDS
from understudy.sweeps.folder import SweepFolder
from understudy.sweeps.making import Group
from understudy.sweeps.names import Combination
from understudy.sweeps.run_tables import failures_table

KEPT_EVERY = 2.0
"""Seconds after which the runs that were made are kept."""

MOST_ROWS = 1_000_000
"""Rows of runs and readings of a combination that wait to be kept, at most."""


class Keeper:
    """Gathers runs as they are made, and keeps them in the folder now and then. What it reports is kept."""

    def __init__(self, folder: SweepFolder, report: Report, n_kept: int, raises: bool) -> None:
        self._folder, self._report, self._n_kept, self._raises = folder, report, n_kept, raises
        self._groups: dict[Combination, list[Group]] = {}
        self._n_rows = 0
        self._failed_before: dict[Combination, set[int]] = {}
        self._last = time.monotonic()
        self.failed: list[tuple[Combination, FailedRun]] = []
        self.n_finished = n_kept

    def failed_before(self, combination: Combination) -> set[int]:
        """Return the numbers of a combination's runs that are in the folder as failed."""
        if combination not in self._failed_before:
            self._failed_before[combination] = self._folder.failed(combination)
        return self._failed_before[combination]

    def add(self, combination: Combination, group: Group) -> None:
        """Take in a group of runs, and keep all if it is time. Raise `RunError` where a run failed and none may."""
        self._groups.setdefault(combination, []).append(group)
        self._n_rows += 0 if group.curves is None else len(group.curves)
        self.failed += [(combination, one) for one in group.failed]
        if time.monotonic() - self._last > KEPT_EVERY or self._n_rows > MOST_ROWS:
            self.close()
        if self._raises and group.failed:
            self.close()
            raise RunError(
                f"{combination}: {group.failed[0]}; its traceback is in the folder, and the same call goes on"
            )

    def fail(self, missing: Mapping[Combination, Sequence[int]], error: Exception, seed: int) -> None:
        """Keep runs as failed that could not begin, since a part of theirs raised. Raise that where none may fail."""
        if self._raises:
            raise error
        for combination, numbers in missing.items():
            failed = tuple(FailedRun.of(number, spawn(seed, number, KINDS[False, False]), error) for number in numbers)
            self.add(combination, Group(0, tuple((number,) for number in numbers), failed=failed))
        self.close()

    def close(self) -> None:
        """Keep all runs that have come."""
        while self._groups:
            combination = next(iter(self._groups))
            groups = self._groups.pop(combination)  # before they are written: interrupted, they are not written twice
            self._keep(combination, groups)
            self._n_kept += sum(len(stack) for group in groups for stack in group.made)
        self._n_rows, self._last = 0, time.monotonic()
        self._report(self._n_kept)

    def _keep(self, combination: Combination, groups: Sequence[Group]) -> None:
        runs = [group.runs for group in groups if group.runs is not None and len(group.runs)]
        curves = [group.curves for group in groups if group.curves is not None]
        if runs:
            import pyarrow as pa

            made = pa.concat_tables(runs)
            self._folder.write(combination, made, pa.concat_tables(curves).unify_dictionaries())
            self.n_finished += len(made)
        failed = [one for group in groups for one in group.failed]
        numbers = {number for group in groups for stack in group.made for number in stack}
        if not self.failed_before(combination).isdisjoint(numbers):
            self._folder.drop_failures(combination, numbers)
            self._failed_before[combination] -= numbers
        if failed:
            self._folder.write_failures(combination, failures_table(failed))


def failures_in_words(failed: Sequence[tuple[Combination, FailedRun]], n_runs: int) -> str:
    """Return how many runs failed, and the first of them with their reasons."""
    listed = "; ".join(f"{combination}, {one}" for combination, one in failed[:MOST_NAMED])
    more = f"; and {len(failed) - MOST_NAMED:,} more" * (len(failed) > MOST_NAMED)
    return f"{len(failed):,} of {n_runs:,} runs of the sweep failed: {listed}{more}"
