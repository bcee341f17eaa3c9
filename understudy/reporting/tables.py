"""Tidy tables of runs, as the page and the command line show them."""

import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from understudy.errors import CensoringWarning
from understudy.evaluation import Earnings, Fidelity, earnings, efficiency, fidelity
from understudy.runs import Runs

NONE = "\N{EN DASH}"
"""What a cell shows that has nothing to show."""

NO_READING = "there is no reading up to the horizon that every run has"

MOST_NAMED = 5
"""States named of those that ran out."""


@dataclass(frozen=True)
class Column:
    """A heading, and whether numbers stand under it. Columns of one group share a heading of their own."""

    name: str
    numeric: bool = True
    group: str = ""


@dataclass(frozen=True)
class Table:
    """Formatted cells, the values behind them, and what a reader must know beside."""

    title: str
    headings: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    values: tuple[tuple[Any, ...], ...]
    notes: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The name over each column."""
        return tuple(column.name for column in self.headings)

    @property
    def groups(self) -> list[tuple[str, int]]:
        """The headings over the headings, and how many columns each spans; none where no column has a group."""
        spans: list[tuple[str, int]] = []
        for column in self.headings:
            if spans and spans[-1][0] == column.group:
                spans[-1] = (column.group, spans[-1][1] + 1)
            else:
                spans.append((column.group, 1))
        return spans if any(name for name, _ in spans) else []


def tables_of(runs: Mapping[str, Runs], *, reference: str | None = None, margin: float | None = None) -> list[Table]:
    """Efficiency, and the fidelity of each probe that some set shares with the reference, by default the real runs."""
    reference = reference_of(runs) if reference is None else reference
    others = {name: set_ for name, set_ in runs.items() if name != reference}
    return [
        efficiency_table(runs),
        *(fidelity_table(others, runs[str(reference)], probe, margin=margin) for probe in compared(runs, reference)),
    ]


def reference_of(runs: Mapping[str, Runs]) -> str | None:
    """The first set of real runs, which others are measured against."""
    return next((name for name, set_ in runs.items() if len(set_) and set_.about.get("kind") == "real"), None)


def compared(runs: Mapping[str, Runs], reference: str | None) -> list[str]:
    """The probes that the reference shares with any other set."""
    if reference is None:
        return []
    others = {probe for name, set_ in runs.items() if name != reference for probe in set_.probes}
    return [probe for probe in runs[reference].probes if probe in others]


def efficiency_table(runs: Mapping[str, Runs]) -> Table:
    """How long the log could answer for each set of runs, and what ran out."""
    columns = (
        Column("", numeric=False),
        Column("runs"),
        Column("steps, median"),
        Column("quartiles"),
        Column("nine of ten reached"),
        Column("episodes, median"),
        Column("return an episode"),
        Column("log served"),
        Column("rows looked at per step"),
    )
    measured = {str(name): (set_, efficiency(set_)) for name, set_ in runs.items() if len(set_)}
    earned = earnings({name: set_ for name, (set_, _) in measured.items()})
    show = figures_of(earned)
    rows, values = [], []
    for name, (set_, found) in measured.items():
        low, high = found.quartiles
        at_least = "≥ " if 2 * found.n_limited >= found.n_runs and set_.about.get("log_rows") else ""
        rows.append(
            (
                name,
                f"{found.n_runs:,}",
                f"{at_least}{found.steps:,.0f}",
                f"{low:,.0f}{NONE}{high:,.0f}",
                f"{found.horizon:,}",
                f"{found.episodes:,.0f}",
                earned_cell(earned.get(name), show),
                NONE if found.share_served is None else f"{at_least}{percent(found.share_served)}",
                NONE if found.rows_per_step is None else f"{found.rows_per_step:.2f}",
            )
        )
        values.append(
            (
                name, found.n_runs, found.steps, found.quartiles, found.horizon, found.episodes, earned.get(name),
                found.share_served, found.rows_per_step,
            )
        )  # fmt: skip
    notes = [f"{name} has no finished run and is left out." for name, set_ in runs.items() if not len(set_)]
    if any(row[2].startswith("≥") for row in rows):
        notes.append("≥: max_steps stopped those runs, not the log; how long it could have answered is not known.")
    notes += notes_on_returns(runs, earned)
    if any(set_.about.get("log_episodes") == 1 for set_ in runs.values()):
        notes.append("The log is one episode: its order is fixed, and runs differ by acceptance and learner only.")
    return Table("Efficiency", columns, tuple(rows), tuple(values), tuple(notes))


def earned_cell(earned: Earnings | None, show: Callable[[float], str]) -> str:
    """What an episode earned; a range where some runs did not finish all the episodes that are counted."""
    if earned is None:
        return NONE
    return f"{show(earned.low)} to {show(earned.high)}" if earned.missing else show(earned.mean)


def figures_of(earned: Mapping[str, Earnings]) -> Callable[[float], str]:
    """How what episodes earned is written, with as many decimals in all sets."""
    return figures(*(found.mean for found in earned.values()))


def notes_on_returns(runs: Mapping[str, Runs], earned: Mapping[str, Earnings]) -> list[str]:
    """Which episodes the returns are of, which sets have none, and what the log's own episodes earned."""
    notes = []
    if earned:
        steps = max(found.steps for found in earned.values())
        alike = ", the same number in every set" if len(earned) > 1 else ""
        one = next(iter(earned.values()))
        which = f"the first {one.episodes:,} episodes" if one.episodes > 1 else "the first episode"
        notes.append(f"Return: the mean over {which} of each run (steps 1 to {steps:,}){alike}.")
    if any(found.missing for found in earned.values()):
        notes.append(
            "A range of returns: some runs stopped before the last of these episodes; its ends are what the mean would "
            "be if each missing one had earned the lowest and the highest return seen. It may have been worse."
        )
    none = [name for name, set_ in runs.items() if len(set_) and name not in earned]
    if none:
        notes.append(f"No return of {', '.join(none)}: fewer than nine of ten runs finished an episode.")
    if (sentence := logged_sentence(runs)) is not None:
        notes.append(sentence)
    return notes


def logged_sentence(runs: Mapping[str, Runs]) -> str | None:
    """What the log's own episodes earned, or its steps where episodes do not end; None where sets share no log."""
    mean, reward = logged(runs, "log_return"), logged(runs, "log_reward")
    if mean is None:
        return None if reward is None else f"The log itself earned {figures(reward)(reward)} a step."
    cut_off = logged(runs, "log_cut_off")
    part = f" ({int(cut_off):,} were cut off, and count up to there)" if cut_off else ""
    return f"The log's own episodes earned {figures(mean)(mean)} on average{part}."


def logged(runs: Mapping[str, Runs], name: str) -> float | None:
    """Something that is known of the log, where all sets share it."""
    known = {set_.about[name] for set_ in runs.values() if set_.about.get(name) is not None}
    shared = len(known) == 1 and not any(set_.about.get("own_logs") for set_ in runs.values())
    return known.pop() if shared else None


def stops_table(runs: Mapping[str, Runs]) -> Table:
    """What ran out in each set of runs: every cause, how often, and where most."""
    columns = (
        Column("", numeric=False),
        Column("cause", numeric=False),
        Column("runs"),
        Column("where", numeric=False),
    )
    rows, values = [], []
    for name, set_ in runs.items():
        causes = Counter(run.stopped.cause for run in set_)
        for cause, count in causes.most_common():
            stops = [run.stopped for run in set_ if run.stopped.cause == cause]
            words = {stop.group: stop.what for stop in reversed(stops) if stop.state is not None}
            places = Counter(words[stop.group] for stop in stops if stop.state is not None)
            rows.append((str(name), cause, f"{count:,}", _where(places)))
            values.append((str(name), cause, count, dict(places)))
    return Table("What ran out", columns, tuple(rows), tuple(values))


@dataclass(frozen=True)
class Comparisons:
    """The fidelity of several sets, or why there is none: up to one step for all, and up to each set's own horizon."""

    shared: int | None  # None where no set could be compared
    together: dict[str, Fidelity | str]
    own: dict[str, Fidelity | str]


def comparisons(
    runs: Mapping[str, Runs],
    reference: Runs,
    probe: str,
    *,
    horizon: int | None = None,
    margin: float | None = None,
) -> Comparisons:
    """Compare each set with the reference, up to the step asked for or the largest that all runs reached."""
    own = {str(name): _compare(set_, reference, probe, None, margin) for name, set_ in runs.items()}
    horizons = [found.horizon for found in own.values() if isinstance(found, Fidelity)]
    shared = horizon if horizon is not None else min(horizons, default=None)
    if shared is None:
        return Comparisons(None, own, own)
    together = {str(name): _compare(set_, reference, probe, shared, margin) for name, set_ in runs.items()}
    if horizon is None:  # what had nothing up to its own horizon has survivors at most up to another
        together |= {name: found for name, found in own.items() if isinstance(found, str)}
    return Comparisons(shared, together, own)


def fidelity_table(
    runs: Mapping[str, Runs],
    reference: Runs,
    probe: str,
    *,
    horizon: int | None = None,
    margin: float | None = None,
) -> Table:
    """How far each set's mean curve is from the reference's.

    Errors up to different steps are not comparable, so the first columns are up to one step for all: the horizon asked
    for, or the largest step that every run of every set reached. Beside them stand those up to each set's own.
    """
    found = comparisons(runs, reference, probe, horizon=horizon, margin=margin)
    together, own = found.together, found.own
    known = [one for one in (*together.values(), *own.values()) if isinstance(one, Fidelity)]
    digits = decimals([x for one in known for x in (one.rmse, one.floor, one.mean_error)])
    decided = any(isinstance(one, Fidelity) and one.interval for one in together.values())
    apart = any(isinstance(one, Fidelity) and one.horizon != found.shared for one in own.values())

    headings = ["RMSE", "floor", "mean error", "max error"]
    group = "" if found.shared is None else f"all up to step {found.shared:,}"
    columns = [Column("", numeric=False), *(Column(heading, group=group) for heading in headings)]
    if decided:
        level = next(one.level for one in known)
        columns += [Column(f"error, {level:.0%} interval", group=group), Column("margin", group=group)]
        columns += [Column("verdict", numeric=False, group=group)]
    if apart:
        columns += [
            Column(heading, group="each up to its own horizon") for heading in ["own horizon", "own RMSE", "own floor"]
        ]

    rows, values = [], []
    for name in own:
        value: list[Any] = [name, *errors_of(together[name])]
        cells = [name, *(number(x, digits) for x in value[1:])]
        if decided:
            value += _decision(together[name])
            cells += [_roots(value[-3], digits), number(value[-2], digits), value[-1] or NONE]
        if apart:
            one = own[name]
            value += [one.horizon if isinstance(one, Fidelity) else None, *errors_of(one)[:2]]
            cells += [f"{one.horizon:,}" if isinstance(one, Fidelity) else NONE]
            cells += [number(x, digits) for x in value[-2:]]
        rows.append(tuple(cells))
        values.append(tuple(value))
    title = f"Fidelity of {probe}" + ("" if found.shared is None else f" up to step {found.shared:,}")
    return Table(title, tuple(columns), tuple(rows), tuple(values), notes_on(together))


def decimals(numbers: Sequence[float]) -> int:
    """How many decimals show two digits of the smallest of them.

    >>> decimals([0.0123, 2.5]), decimals([310.0, 1200.0])
    (3, 0)
    """
    known = np.abs([x for x in numbers if np.isfinite(x) and x != 0])
    return int(np.clip(1 - np.floor(np.log10(known.min())), 0, 5)) if len(known) else 2


def figures(*numbers: float) -> Callable[[float], str]:
    """How some numbers are written: with the decimals that show three digits of the smallest of them.

    >>> figures(0.000812)(0.000812), figures(-581.02, -606.4)(-581.02), figures(0.0)(0.0)
    ('0.000812', '-581', '0.00')
    """
    known = np.abs([x for x in numbers if np.isfinite(x) and x != 0])
    digits = int(np.clip(2 - np.floor(np.log10(known.min())), 0, 6)) if len(known) else 2
    return lambda number: f"{number:,.{digits}f}"


def percent(share: float) -> str:
    """A share as a percentage that says neither 0 nor 100 unless it is.

    >>> percent(0.389), percent(0.0004), percent(1.0), percent(2.5)
    ('39%', '0.04%', '100%', '250%')
    """
    return f"{share:.1g}%" if share == 0 else f"{100 * share:.1g}%" if share < 0.01 else f"{share:.0%}"


def _where(places: Counter[str]) -> str:
    """What ran out most, and how often."""
    named = [f"{what} ({count:,})" for what, count in places.most_common(MOST_NAMED)]
    if len(places) > MOST_NAMED:
        named.append(f"{len(places) - MOST_NAMED} others")
    return "; ".join(named) or NONE


def _compare(runs: Runs, reference: Runs, probe: str, horizon: int | None, margin: float | None) -> Fidelity | str:
    """The fidelity, or why there is none."""
    if not len(runs) or not len(reference):
        return "there is no finished run"
    if probe not in runs.probes or probe not in reference.probes:
        return f"{probe} was not probed"
    if not any(len(run.steps) for run in runs) or min(runs.lengths.min(), reference.lengths.min()) == 0:
        return NO_READING
    shapes = {np.shape(run.curves[probe])[1:] for set_ in (runs, reference) for run in set_ if len(run.steps)}
    if len(shapes) > 1:
        return "its readings have another shape than the reference's"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CensoringWarning)  # said in the notes instead
            return fidelity(runs, reference, probe, horizon=horizon, margin=margin)
    except ValueError:  # its message names a horizon, and would differ from set to set
        return NO_READING


def errors_of(found: Fidelity | str) -> list[float | None]:
    """RMSE, floor, mean and maximum error, where there are any."""
    if isinstance(found, str):
        return [None] * 4
    return [found.rmse, found.floor, found.mean_error, found.max_error]


def _decision(found: Fidelity | str) -> list[Any]:
    return [None] * 3 if isinstance(found, str) else [found.interval, found.margin, found.verdict]


def number(value: float | None, digits: int) -> str:
    """A number with so many decimals."""
    if value is None or not np.isfinite(value):
        return NONE
    return f"{value:,.{digits}f}"


def _roots(interval: tuple[float, float] | None, digits: int) -> str:
    """The interval of a squared error in the probe's own units."""
    if interval is None:
        return NONE
    low, high = (np.sqrt(max(0.0, end)) for end in interval)
    return f"{low:,.{digits}f}{NONE}{high:,.{digits}f}"


def notes_on(found: Mapping[str, Fidelity | str]) -> tuple[str, ...]:
    """Why a set has no verdict or no number: each reason once, with the sets it holds for unless it holds for all."""
    reasons: dict[str, list[str]] = {}
    for name, one in found.items():
        if text := one if isinstance(one, str) else one.note:
            reasons.setdefault(text, []).append(name)
    return tuple(
        f"{text}." if len(names) == len(found) and len(found) > 1 else f"{', '.join(names)}: {text}."
        for text, names in reasons.items()
    )
