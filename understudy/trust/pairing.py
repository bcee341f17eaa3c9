"""The runs that all learners of a comparison have: where one raises in a run, runs of that seed are left out of all."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from understudy.errors import RunError
from understudy.evaluation import Halves
from understudy.runs import Runs
from understudy.runs.failures import FailedRun

LEAST_SHARE = 0.5
"""The share of runs, on the log and on each half of it, that all learners must have: fewer are hardly the same runs."""

FEWEST = 2
"""Runs below which nothing is known of their spread."""


@dataclass(frozen=True)
class LeftOut:
    """Runs that were left out of a comparison, since a learner raised in the run of the same seed."""

    runs: int  # of each learner, on the log itself
    of: int
    on_halves: int  # of each learner, on all halves of the log together
    of_halves: int
    failed: Mapping[str, int]  # how many runs each learner raised in, on the log and on its halves
    first: str  # the first error of the learner that raised most often

    def to_json(self) -> dict[str, Any]:
        """Return the fields as JSON can hold them."""
        return {**vars(self), "failed": dict(self.failed)}

    def __str__(self) -> str:
        raised = ", ".join(f"{name} in {n:,}" for name, n in self.failed.items() if n)
        return (
            f"{self.runs:,} of {self.of:,} runs and {self.on_halves:,} of {self.of_halves:,} on halves of the log were "
            f"left out of all learners, since one raised there ({raised}; {self.first}): the others are compared, "
            "which is fair where errors have nothing to do with how well a run goes"
        )


def common_runs(found: Mapping[str, Halves]) -> tuple[dict[str, Halves], LeftOut | None]:
    """Return the runs of learners for which all of them have the run of the same seed, and what was left out.

    None where nothing was. The runs of each learner then name all that were left out as `failed`. Raise `RunError`
    where too few are left.
    """
    whole = {name: one.runs for name, one in found.items()}
    all_halves = zip(*(runs.halves for runs in whole.values()), strict=True)
    halves = [dict(zip(found, part, strict=True)) for part in all_halves]
    failed = {name: sum(len(runs.failed) for runs in (whole[name], *whole[name].halves)) for name in found}
    if not any(failed.values()):
        return dict(found), None
    worst = max(failed, key=lambda name: failed[name])
    first = next(one for runs in (whole[worst], *whole[worst].halves) for one in runs.failed)
    left, *left_of_halves = (_common(part, f"{worst}: {first}") for part in (whole, *halves))
    kept = {
        name: replace(one, runs=replace(left[name], halves=tuple(half[name] for half in left_of_halves)))
        for name, one in found.items()
    }
    one, *its_halves = (next(iter(part.values())) for part in (left, *left_of_halves))
    return kept, LeftOut(
        len(one.failed), len(one) + len(one.failed), sum(len(half.failed) for half in its_halves),
        sum(len(half) + len(half.failed) for half in its_halves), failed, f"{worst}: {first}",
    )  # fmt: skip


def _common(found: Mapping[str, Runs], first: str) -> dict[str, Runs]:
    """Return the runs of each learner, on one log, without those of seeds that a learner raised with."""
    failed: dict[int, FailedRun] = {}
    for name, runs in found.items():
        for one in runs.failed:
            failed.setdefault(one.number, replace(one, reason=f"{name}: {one.reason}"))
    if not failed:
        return dict(found)
    seeds = {one.seed for one in failed.values()}
    kept = {name: [run for run in runs if run.seed not in seeds] for name, runs in found.items()}
    _check_enough(min(map(len, kept.values())), len(failed), first)
    out = tuple(failed[number] for number in sorted(failed))
    return {name: replace(runs, runs=tuple(kept[name]), failed=out) for name, runs in found.items()}


def _check_enough(n_left: int, n_failed: int, first: str) -> None:
    """Raise `RunError` where too few runs are left to compare learners by."""
    n = n_left + n_failed
    if n_left < max(FEWEST, LEAST_SHARE * n):
        raise RunError(
            f"learners cannot be compared: {n_left:,} of {n:,} runs are left in which none of them raised, and at "
            f"least {max(FEWEST, -(-n // 2)):,} are needed ({first}); mend that learner, or leave it out"
        )
