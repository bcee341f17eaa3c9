"""How far to believe each of several sets of runs, in a table: the step, the luck up to there, and why not further."""

from collections.abc import Mapping

from understudy.digits import digits, three_digits
from understudy.evaluation import Interval, Trusted
from understudy.reporting.luck import LuckOfSet
from understudy.reporting.measurements import Measurements
from understudy.tables import NONE, Column, Table

WHY = {
    "difference": "then more log would change the answer",
    "noise": "then there are too few halves of the log to tell",
    "too noisy": "then halves of the log differ too much among themselves to tell",
    "too short": "since runs are too short to be compared",
    "halves end": "then half of the log has no answer to compare with",
    "runs end": "as far as the runs go",
}
"""Why a trusted horizon ends where it does, in a few words."""


def belief_table(tested: Mapping[str, LuckOfSet], measured: Measurements) -> Table:
    """Return what halves of the log say of several sets, a line each, with its probe where they differ in it.

    Of a set that something speaks against nothing is trusted, whatever halves say.
    """
    margins: dict[str, list[float]] = {}  # by probe
    for found in tested.values():
        margins.setdefault(found.probe, []).append(found.trusted[found.probe].margin)
    several = len(margins) > 1
    headings = (
        Column("", numeric=False), *[Column("judged by", numeric=False)] * several, Column("trusted up to"),
        Column("give or take"), Column("at step"), Column("mean"), Column("95%"), Column("", numeric=False),
    )  # fmt: skip
    rows, horizons = [], measured.trusted()
    for name, found in tested.items():
        trusted, interval = found.trusted[found.probe], found.intervals[found.probe]
        mean, low, high, *_ = numbers_of(interval)
        luck, why = (digits(found.give_or_take, 2), why_of(trusted)) if trusted.steps else (NONE, _first(trusted))
        if name in measured.doubted:
            luck, why = NONE, "not to be believed"
        elif name in measured.gained:
            luck, why = digits(measured.beyond[name].margin, 2), f"then {measured.beyond[name].weakest.name} ends it"
        elif horizons[name] < trusted.steps:
            why = "as far as runs are exact"
        probe = [found.probe] * several
        mean_at = f"{interval.steps[-1]:,}", mean, f"{low} to {high}"
        rows.append((name, *probe, f"{horizons[name]:,}", luck, *mean_at, why))
    within = "; ".join(f"of “{probe}”, within a margin of {_span(found)}" for probe, found in margins.items())
    note = (
        f"Up to the trusted step, halves of the log agree with the whole, on average: {within}. “Give or take” is the "
        "largest half width of the interval up to there. Means are those of the last reading that all runs have, "
        "which is beyond what can be believed where that step is the later one. Intervals are of 95%, and include the "
        "luck of the log, extrapolated where halves have ended."
    )
    if several:
        note += " Numbers of different probes cannot be compared."
    if measured.gained.keys() & tested.keys():
        note += (
            " For sets that us.beyond could follow past the exact step, both are by all of its evidence, and “give or "
            "take” is its margin."
        )
    return Table("How far to believe each set", headings, tuple(rows), notes=(note,))


def in_words(row: tuple[str, ...]) -> str:
    """Return a line of the table of several sets as a sentence."""
    name, *probe, trusted, give_or_take, step, mean, between, why = row
    by = "".join(f", judged by “{one}”" for one in probe)
    upto = f"up to step {trusted}, give or take {give_or_take}" if trusted != "0" else "at no step"
    past = ", beyond that," * (int(step.replace(",", "")) > int(trusted.replace(",", "")) > 0)
    return f"“{name}”{by}: {upto}; {why}. At step {step}{past} its mean is {mean} (95%: {between})."


def _span(values: list[float]) -> str:
    low, high = min(values), max(values)
    return digits(low) + f" to {digits(high)}" * (low < high)


def why_of(trusted: Trusted) -> str:
    """Return why a trusted horizon ends where it does, in a few words."""
    return WHY["too noisy" if trusted.reason == "noise" and trusted.more_halves is None else trusted.reason]


def _first(trusted: Trusted) -> str:
    """Return why nothing can be trusted, in a few words."""
    why = why_of(trusted).removeprefix("then ")
    return why if trusted.reason == "too short" else f"at the first reading, {why}"


def numbers_of(interval: Interval) -> list[str]:
    """Return mean, low and high of the last reading, and what the spread of runs alone would say, as texts."""
    mean, low, high = interval.final
    write = three_digits(high - low)
    return [write(number) for number in (mean, low, high, *(float(end[-1]) for end in interval.naive))]
