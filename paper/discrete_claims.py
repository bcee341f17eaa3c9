"""What the paper claims of the grid with noise bits, and whether the runs show it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

import understudy as us
from paper.discrete_tables import CLOSE, estimates_of
from paper.items import Claim, Columns, PaperValue
from paper.noisy_grid import CONTROL, PSRS_X, PSRS_Z, QBE_X, QBE_Z, SETTINGS, Case, Sets
from paper.set_tables import by_set
from paper.verdicts import all_equivalent, all_longer, error_of, listed
from understudy.runs import Runs

TWICE = (1.75, 2.25)
"""What we take “about twice” to mean."""

TENTH = (1 / 15, 1 / 7)
"""What we take “about 1/10” to mean."""

ALL = 0.99
"""What we take “all the samples” to mean."""


def between(ratio: us.Ratio) -> str:
    """A ratio and its interval in words."""
    return f"{ratio.value:.2f} times ({ratio.low:.2f} to {ratio.high:.2f})"


def is_twice(interval: tuple[float, float]) -> bool | None:
    """True if a ratio is about two by its interval, False if it is not, None if that is undecided."""
    low, high = interval
    if high < TWICE[0] or low > TWICE[1]:
        return False
    return True if TWICE[0] <= low and high <= TWICE[1] else None


def twice_as_long(own: Mapping[str, Sets], printed: Any, order: str) -> list[Claim]:
    """Simulations by states are twice as long, in settings 1 and 3."""
    claims = []
    for setting, words in (("setting 1", "roughly two times longer"), ("setting 3", "about twice as long")):
        queue, replaced = (
            us.ratio_of_medians(printed[setting, openings][PSRS_Z], printed[setting, openings][PSRS_X])
            for openings in ("queue", "replacement")
        )
        exact = us.ratio_of_medians(own[setting][PSRS_Z], own[setting][PSRS_X])
        qbe = us.ratio_of_medians(own[setting][QBE_Z], own[setting][QBE_X])
        claims.append(
            Claim(
                f"Latent states make simulations “{words}”, {setting}.",
                is_twice(queue.interval),
                f"PSRS as printed (rows shuffled, openings from a queue) on one log: {between(queue)}, and "
                f"{between(replaced)} with openings by replacement. With a log for each run, {order}: PSRS "
                f"{between(exact)}, QBE {between(qbe)}. (We take about twice as {TWICE[0]} to {TWICE[1]}; intervals "
                "are 95%.)",
            )
        )
    return claims


def shorter(own: Mapping[str, Sets], order: str) -> list[Claim]:
    """Simulations of setting 2 are a tenth as long as those of setting 1."""
    claims = []
    for name in (PSRS_X, PSRS_Z):
        ratio = us.ratio_of_medians(own["setting 2"][name], own["setting 1"][name])
        low, high = ratio.interval
        inside, outside = low >= TENTH[0] and high <= TENTH[1], high < TENTH[0] or low > TENTH[1]
        claims.append(
            Claim(
                f"Simulations in setting 2 are “about 1/10 of Setting 1”; {name}.",
                True if inside else False if outside else None,
                f"1/{1 / ratio.value:.1f} (1/{1 / low:.1f} to 1/{1 / high:.1f}), {order}, ties between optimal actions "
                "shared. (We take about 1/10 as 1/15 to 1/7.)",
            )
        )
    return claims


def tighter(one_log: Mapping[str, Sets]) -> list[Claim]:
    """Estimates spread less with states, over runs on one log, in settings 1 and 2."""
    claims = []
    for setting in SETTINGS[:2]:
        ratio = us.ratio_of_spreads(*(estimates_of(one_log[setting][name]) for name in (PSRS_Z, PSRS_X)))
        claims.append(
            Claim(
                f"Latent states “produce a tighter confidence interval in the resulting value estimate”, {setting}"
                + (" (“the general trend in Setting 1 still holds”)." if setting == "setting 2" else "."),
                True if ratio.high < 1 else False if ratio.low > 1 else None,
                f"The standard deviation of estimates over runs on one log is {ratio.value:.2f} times that on "
                f"observations ({ratio.low:.2f} to {ratio.high:.2f}).",
            )
        )
    return claims


def all_samples(one_log: Mapping[str, Sets], log_rows: int) -> Claim:
    """Setting 1 uses the whole log, in row order."""
    used = {name: float(np.median(one_log["setting 1"][name].lengths)) / log_rows for name in (PSRS_Z, PSRS_X)}
    return Claim(
        "In setting 1 “PSRS with latent states can make use of all the samples”.",
        used[PSRS_Z] > ALL,
        f"In row order the median run uses {used[PSRS_Z]:.1%} of the rows; on observations {used[PSRS_X]:.1%}.",
    )


def replays_the_log(runs: Runs, log_rows: int, n_distinct: int) -> Claim:
    """Runs of setting 1 in the exact order are the log; our own claim, on which the reading of setting 1 rests."""
    return Claim(
        "In the exact order, by whole episodes, every run of setting 1 is the log itself, whatever the states.",
        n_distinct == 1 and set(runs.lengths.tolist()) == {log_rows},
        f"{len(runs)} runs took {int(runs.lengths.min()):,} to {int(runs.lengths.max()):,} steps on a log of "
        f"{log_rows:,} rows and ended with {n_distinct} distinct {'estimate' if n_distinct == 1 else 'estimates'}. The "
        "figures show setting 1 in the paper's row order, which alone makes its runs differ.",
        ours=True,
    )


def ordered(found: Mapping[Case, Mapping[str, Sets]], shown: Sequence[Case]) -> list[Claim]:
    """Simulations by states last longer in settings 2 and 3, most so with the most noise bits."""
    ratios = {
        (setting, case): us.ratio_of_medians(sets[setting][PSRS_Z], sets[setting][PSRS_X])
        for case, sets in found.items()
        for setting in SETTINGS[1:]
    }
    most, *fewer = sorted((case for case in found if not case.slip), reverse=True)
    trends = [
        ratios[setting, most].low > max((ratios[setting, case].high for case in fewer), default=np.nan)
        for setting in SETTINGS[1:]
    ]

    def told(cases: Iterable[Case]) -> str:
        wanted = [(setting, case) for case in cases for setting in SETTINGS[1:]]
        return "; ".join(f"{setting}, {case}: {between(ratios[setting, case])}" for setting, case in wanted)

    return [
        Claim(
            f"“Using latent states is more efficient than using raw observations”, settings 2 and 3, {most}.",
            all_longer(ratio.interval for (_, case), ratio in ratios.items() if case in shown),
            f"A log for each run, PSRS: {told(shown)}.",
        ),
        Claim(
            f"{most} “has the clearest trend” (appendix B.2), settings 2 and 3.",
            all(trends) if fewer else None,
            f"A log for each run, PSRS: {told([most, *fewer])}.",
        ),
    ]


def accurate(judged: Mapping[Case, Columns]) -> Claim:
    """Both PSRS simulations are faithful in setting 3, by a test that rejects the control."""
    lines = [(case, line) for case, table in judged.items() for line in by_set(table).values()]
    ours = [line for _, line in lines if line["set"] in (PSRS_X, PSRS_Z)]
    controls = [(case, line) for case, line in lines if line["set"] == CONTROL]
    can_tell = bool(controls) and all(line["verdict"] == "different" for _, line in controls)
    holds = all_equivalent(ours)
    highs = [line["95%"][1] for line in ours if line["95%"] is not None]
    return Claim(
        "“Both are accurate simulations as their learning curves are both overlapping exactly with real Q-learning”, "
        "setting 3.",
        None if holds and not can_tell else holds,
        f"With a log for each run, noise taken off, at a margin of {ours[0]['margin']:.3f}: of {len(ours)} sets of "
        f"PSRS, in {len(judged)} cases, {sum(line['verdict'] == 'equivalent' for line in ours)} are equivalent to "
        f"real; the largest upper end of 95% is {max(highs, default=float('nan')):.4f}. The control: "
        f"{'; '.join(f'{error_of(line)} ({case})' for case, line in controls)}.",
    )


def unbiased(estimates: Columns) -> Claim:
    """Estimates of settings 1 and 2 are unbiased, by a test that rejects the control in setting 2."""
    rows = list(zip(*(estimates[key] for key in ("setting", "set", "verdict")), strict=True))
    ours = [verdict for _, name, verdict in rows if name.startswith("PSRS")]
    controls = {verdict for _, name, verdict in rows if name == CONTROL}
    worst = max(
        (abs(mean - exact) / margin, f"{setting}, {case}, {name}")
        for setting, case, name, exact, mean, margin in zip(
            *(estimates[key] for key in ("setting", "case", "set", "exact value", "mean estimate", "margin")),
            strict=True,
        )
        if name.startswith("PSRS")
    )
    holds = (
        False if "different" in ours else True if set(ours) == {"equivalent"} and controls == {"different"} else None
    )
    return Claim(
        "“Both are unbiased estimate of the groud-truth policy value”, settings 1 and 2.",
        holds,
        f"Means over runs with a log each, at margins of {CLOSE['setting 1']} in setting 1 and {CLOSE['setting 2']} in "
        f"setting 2: {ours.count('equivalent')} of {len(ours)} sets of PSRS are equivalent to the exact value, the "
        f"farthest {worst[0]:.0%} of its margin away ({worst[1]}). The control, in setting 2: "
        f"{listed(sorted(controls))}. (In setting 1 no simulator that ignores actions can be told apart: the policy is "
        "the one that was logged.)",
    )


def more_efficient(against: Columns) -> list[Claim]:
    """PSRS lasts longer than QBE, on observations and on states."""
    claims = []
    for keyed in ("observations", "states"):
        places = {
            f"{setting}, {case}": interval
            for setting, case, by, interval in zip(
                *(against[key] for key in ("setting", "case", "queued by", "95%")), strict=True
            )
            if by == keyed
        }
        longer = [place for place, (low, _) in places.items() if low > 1]
        shorter = [place for place, (_, high) in places.items() if high < 1]
        claims.append(
            Claim(
                f"PSRS “was shown to be more efficient than QBE” (section 3, of Mandel et al.'s work), on {keyed}.",
                all_longer(places.values()),
                f"Of {len(places)} comparisons, a log for each run: PSRS lasts longer in {len(longer)}"
                + (f" ({'; '.join(longer)})" if len(longer) <= len(shorter) else "")
                + f", QBE in {len(shorter)}"
                + (f" ({'; '.join(shorter)})" if shorter else "")
                + f", and {len(places) - len(longer) - len(shorter)} cannot be told.",
            )
        )
    return claims


def compared(
    one_log: Mapping[str, Sets], own: Mapping[str, Sets], few_logs: Sets, real: Runs, probe: str
) -> list[PaperValue]:
    """The numbers that the paper gives beside ours."""
    rows = []
    for setting, said in (("setting 1", "roughly 2"), ("setting 3", "about 2")):
        ratio = us.ratio_of_medians(own[setting][PSRS_Z], own[setting][PSRS_X])
        rows.append(PaperValue(f"{setting}: states / observations, PSRS", said, ratio.value, interval=ratio.interval))
    for name in (PSRS_X, PSRS_Z):
        found = us.fidelity(one_log["setting 3"][name], real, probe)
        what = f"setting 3: {name}, RMSE over {found.horizon:,} steps"
        floor = us.one_log_floor(one_log["setting 3"][name], few_logs[name], real, probe, found.horizon)
        rows.append(PaperValue(what, "“overlapping exactly”", found.rmse, floor, note="one log"))
    return rows
