"""What the paper claims of the grid with noise bits, and what the numbers say."""

from collections.abc import Mapping
from typing import Any

import understudy as us
from understudy.paper.items import Columns, Comparison, Finding
from understudy.paper.measuring import listed, one_log_floor, ratio_of_medians
from understudy.paper.noise import CONTROL, PSRS_X, PSRS_Z, QBE_X, QBE_Z, SETTINGS, Case, Sets
from understudy.runs import Runs

TWICE = (1.75, 2.25)
"""What we take “about twice” to mean."""

TENTH = (1 / 15, 1 / 7)
"""And “about 1/10”."""


def between(ratio: tuple[float, tuple[float, float]]) -> str:
    """A ratio and its interval in words."""
    return f"{ratio[0]:.2f} times ({ratio[1][0]:.2f} to {ratio[1][1]:.2f})"


def is_twice(interval: tuple[float, float]) -> bool | None:
    """Whether a ratio is about two."""
    low, high = interval
    if high < TWICE[0] or low > TWICE[1]:
        return False
    return True if TWICE[0] <= low and high <= TWICE[1] else None


def twice_as_long(one_log: Mapping[str, Sets], own: Mapping[str, Sets], printed: Any) -> list[Finding]:
    """The paper's headline, in settings 1 and 3."""
    findings = []
    for setting in ("setting 1", "setting 3"):
        as_printed = ratio_of_medians(printed[setting, "queue"][PSRS_Z], printed[setting, "queue"][PSRS_X])
        replaced = ratio_of_medians(printed[setting, "replacement"][PSRS_Z], printed[setting, "replacement"][PSRS_X])
        exact = ratio_of_medians(own[setting][PSRS_Z], own[setting][PSRS_X])
        qbe = ratio_of_medians(one_log[setting][QBE_Z], one_log[setting][QBE_X])
        shortest = [int(printed[setting, "queue"][name].lengths.min()) for name in (PSRS_Z, PSRS_X)]
        findings.append(
            Finding(
                f"Latent states make simulations “about twice as long”, {setting}.",
                is_twice(as_printed[1]),
                f"PSRS as printed, rows shuffled and openings from a queue: {between(as_printed)}; openings by "
                f"replacement: {between(replaced)}; in the exact order, a log for each run: {between(exact)}; the "
                f"shortest run of each: {shortest[0]:,} against {shortest[1]:,} steps. QBE on the same log: "
                f"{between(qbe)}. (About twice is {TWICE[0]} to {TWICE[1]}; intervals are 95 %.)",
            )
        )
    return findings


def shorter(own: Mapping[str, Sets]) -> Finding:
    """Setting 2 against setting 1."""
    ratios = {name: ratio_of_medians(own["setting 2"][name], own["setting 1"][name]) for name in (PSRS_X, PSRS_Z)}
    intervals = [interval for _, interval in ratios.values()]
    outside = any(high < TENTH[0] or low > TENTH[1] for low, high in intervals)
    inside = all(low >= TENTH[0] and high <= TENTH[1] for low, high in intervals)
    told = listed(f"1/{1 / ratio:.0f} on {name.split(', ')[1]}" for name, (ratio, _) in ratios.items())
    return Finding(
        "Simulations in setting 2 are “about 1/10” as long as in setting 1.",
        False if outside else True if inside else None,
        f"PSRS in the exact order: {told}, where ties between optimal actions are shared. (About 1/10 is 1/15 to 1/7.)",
    )


def replays_the_log(runs: Runs, log_rows: int, n_distinct: int) -> Finding:
    """Our own claim, on which the reading of setting 1 rests."""
    return Finding(
        "In the exact order, by whole episodes, every run of setting 1 is the log itself: it says nothing of states.",
        n_distinct == 1 and set(runs.lengths.tolist()) == {log_rows},
        f"{len(runs)} runs took {int(runs.lengths.min()):,} to {int(runs.lengths.max()):,} steps on a log of "
        f"{log_rows:,} rows and ended with {n_distinct} distinct {'estimate' if n_distinct == 1 else 'estimates'}. The "
        "figures show setting 1 in the paper's row order, which alone makes its runs differ.",
        ours=True,
    )


def ordered(found: Mapping[Case, Mapping[str, Sets]]) -> Finding:
    """Latent states at least as long, settings 2 and 3."""
    ratios = {
        f"{setting}, {case}": ratio_of_medians(sets[setting][PSRS_Z], sets[setting][PSRS_X])
        for case, sets in found.items()
        for setting in SETTINGS[1:]
    }
    told = "; ".join(f"{name}: {between(ratio)}" for name, ratio in ratios.items())
    lows, highs = zip(*(interval for _, interval in ratios.values()), strict=True)
    return Finding(
        "PSRS on latent states lasts longer than on observations, settings 2 and 3.",
        True if min(lows) > 1 else False if min(highs) < 1 else None,
        f"{told}.",
    )


def accurate(judged: Mapping[Case, Columns]) -> Finding:
    """Both PSRS simulations faithful in setting 3, by a test that rejects the control."""
    rows = [
        (name, case, verdict, interval[1], margin)
        for case, table in judged.items()
        for name, verdict, interval, margin in zip(
            *(table[key] for key in ("set", "verdict", "95 %", "margin")), strict=True
        )
        if name in (PSRS_X, PSRS_Z, CONTROL)
    ]
    ours = [verdict for name, _, verdict, *_ in rows if name != CONTROL]
    controls = [verdict for name, _, verdict, *_ in rows if name == CONTROL]
    can_tell = bool(controls) and set(controls) == {"different"}
    told = "; ".join(f"{name}, {case}: at most {high:.4f}, {verdict}" for name, case, verdict, high, _ in rows)
    return Finding(
        "“Both are accurate simulations”, setting 3.",
        False if "different" in ours else True if can_tell and set(ours) == {"equivalent"} else None,
        f"Debiased error with a log for each run, upper end of 95 %, judged at a margin of {rows[0][-1]:.3f}: {told}.",
    )


def unbiased(estimates: Columns) -> Finding:
    """Estimates of settings 1 and 2 against exact values."""
    worst = {
        f"{setting}, {case}, {name}": off
        for setting, case, name, off in zip(
            *(estimates[key] for key in ("setting", "case", "set", "error / half width")), strict=True
        )
        if name in (PSRS_X, PSRS_Z)
    }
    name = max(worst, key=lambda key: worst[key])
    return Finding(
        "Both are unbiased estimates of the policy's value, settings 1 and 2.",
        worst[name] < 1.5,
        f"With a log for each run, the largest of {len(worst)} errors is {worst[name]:.2f} half widths of its 95 % "
        f"interval ({name}); among so many, 1.5 would be no surprise.",
    )


def more_efficient(against: Columns) -> Finding:
    """PSRS against QBE."""
    names = [
        ", ".join(place) for place in zip(*(against[key] for key in ("setting", "case", "queued by")), strict=True)
    ]
    intervals = dict(zip(names, against["95 %"], strict=True))
    longer = [name for name, (low, _) in intervals.items() if low > 1]
    not_longer = [name for name, (_, high) in intervals.items() if high < 1]
    alike = [name for name in names if name not in longer and name not in not_longer]
    told = [
        f"{verb} in {len(places)}" + (f" ({'; '.join(places)})" if places and places is not longer else "")
        for verb, places in (
            ("PSRS lasts longer", longer),
            ("QBE", not_longer),
            ("neither, as far as can be told,", alike),
        )
    ]
    return Finding(
        "PSRS “was shown to be more efficient than QBE”.",
        False if not_longer else True if len(longer) == len(names) else None,
        f"Of {len(names)} comparisons, a log for each run: {listed(told)}.",
    )


def compared(one_log: Mapping[str, Sets], own: Mapping[str, Sets], real: Runs, probe: str) -> list[Comparison]:
    """The paper's numbers, few as it gives, beside ours."""
    rows = []
    for setting, said in (("setting 1", "roughly 2"), ("setting 3", "about 2")):
        ratio, interval = ratio_of_medians(own[setting][PSRS_Z], own[setting][PSRS_X])
        rows.append(Comparison(f"{setting}: states / observations, PSRS", said, ratio, interval=interval))
    for name in (PSRS_X, PSRS_Z):
        found = us.fidelity(one_log["setting 3"][name], real, probe)
        what = f"setting 3: {name}, RMSE over {found.horizon:,} steps"
        floor = one_log_floor(one_log["setting 3"][name], own["setting 3"][name], real, probe, found.horizon)
        rows.append(Comparison(what, "“overlapping exactly”", found.rmse, floor, note="one log"))
    return rows
