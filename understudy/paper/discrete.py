"""Figure 3 and appendix B.2: the grid with noise bits, under two fixed policies and Q-learning."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

import understudy as us
from understudy.paper import grids
from understudy.paper.drawing import ranges
from understudy.paper.items import Columns, Comparison, Finding, Item, Picture, Table
from understudy.paper.measuring import (
    curve_columns,
    fidelity_columns,
    listed,
    mean_with_interval,
    ratio_of_medians,
)
from understudy.paper.stage import Stage
from understudy.reporting.plots import learning_curves
from understudy.runs import Runs

TITLE = "Discrete observations: latent states make simulations longer (Figure 3, appendix B.2)"


class Case(NamedTuple):
    """An environment: how many noise bits, and how often an action slips."""

    bits: int
    slip: float = 0.0

    def __str__(self) -> str:
        return f"k = {self.bits}" + (f", slip {self.slip}" if self.slip else "")


@dataclass(frozen=True)
class Settings:
    """Sizes of the item."""

    runs: int = 100
    episodes: int = 1000
    cases: tuple[Case, ...] = (Case(1), Case(2), Case(3), Case(4), Case(4, 0.2))
    shown: tuple[Case, ...] = (Case(4), Case(4, 0.2))  # drawn, and judged with a log for each run
    real_steps: int = 70_000
    every: int = 500


FULL = Settings()
QUICK = Settings(runs=12, episodes=150, cases=(Case(2), Case(4), Case(4, 0.2)), real_steps=12_000, every=100)

GAMMA, EPSILON = 0.99, 0.2  # of settings 1 and 2
SETTINGS = ("setting 1", "setting 2", "setting 3")
PSRS_X, PSRS_Z, QBE_X, QBE_Z = "PSRS, observations", "PSRS, states", "QBE, observations", "QBE, states"
TWICE = (1.75, 2.25)
"""What we take “about twice” to mean."""

Sets = dict[str, Runs]


def run(stage: Stage) -> Item:
    """Every case under every setting and simulator; then what the paper says of it."""
    settings, rules = stage.settings(FULL, QUICK), grids.conventions(stage)
    one_log = {case: on_one_log(stage, settings, rules, case) for case in settings.cases}
    own_logs = {case: on_own_logs(stage, settings, rules, case) for case in settings.shown}
    real = {case: real_runs(stage, settings, rules, case) for case in settings.cases}
    main = settings.shown[0]
    printed = as_printed(stage, settings, rules, main)
    replayed = replays(stage, settings, rules, main)

    lengths = lengths_drawn(one_log)
    values = values_drawn(one_log)
    pictures = [
        Picture(
            "lengths",
            "How long simulations last: medians of runs on one log, and quartiles. Setting 1 is drawn in the paper's "
            "row order; settings 2 and 3 in the exact order.",
            ranges(lengths, unit="steps"),
            lengths,
        ),
        Picture(
            "values",
            f"Monte-Carlo estimates when runs stopped: their mean and the middle 95 % of {settings.runs} runs on one log, "
            "beside the exact value (the line). All runs share the luck of that log.",
            ranges(values, unit="discounted return"),
            values,
        ),
        *(
            Picture(
                f"curves-{number}",
                f"Setting 3, {case}: mean curves of Q-learning's {rules.probe} with 1.96 standard errors; dashed where "
                "some runs had stopped.",
                learning_curves({**one_log[case]["setting 3"], "real": real[case]}, rules.probe, "real"),
                curve_columns({**one_log[case]["setting 3"], "real": real[case]}, rules.probe),
            )
            for number, case in enumerate(settings.shown, start=1)
        ),
    ]
    judged = {case: fidelity_columns(own_logs[case]["setting 3"], real[case], rules.probe) for case in settings.shown}
    estimates = estimates_table(own_logs)
    return Item(
        about=(
            f"A log of {settings.episodes:,} uniform episodes for each case, {settings.runs} runs of each set. Setting 1 "
            f"evaluates the uniform policy and setting 2 an epsilon-soft optimal one (epsilon {EPSILON}, ties shared) by "
            f"Monte Carlo, discount {GAMMA}; setting 3 is Q-learning. QBE is as printed (it stops when the drawn action "
            f"has no row). In the exact order, by whole episodes, setting 1 accepts every row and replays the log: the "
            f"{len(replayed)} runs tried had {distinct(replayed)} distinct estimate and {len(replayed[0]):,} steps each, "
            "the log's length. Its runs are therefore drawn in the paper's row order, which is what makes them differ."
        ),
        findings=[
            *twice_as_long(one_log[main], own_logs[main], printed),
            shorter(own_logs[main]),
            ordered(own_logs),
            accurate(judged),
            unbiased(estimates),
            more_efficient(own_logs),
        ],
        comparisons=compared(one_log[main], own_logs[main], real[main], rules.probe),
        pictures=pictures,
        tables=[
            Table("ratios", "Median lengths on one log, and how they compare.", ratios_table(one_log)),
            Table("printed", f"PSRS as printed, {main}: median lengths by order and openings.", printed_table(printed)),
            Table(
                "fidelity",
                f"Setting 3 with a log for each run ({rules.probe}), each over its own horizon. Faithful is “equivalent”.",
                stacked({str(case): table for case, table in judged.items()}),
            ),
            Table(
                "fidelity-one-log",
                "Setting 3 on one log, as in the paper: RMSE beside the noise floor of runs.",
                stacked({
                    str(case): fidelity_columns(sets["setting 3"], real[case], rules.probe)
                    for case, sets in one_log.items()
                }),
            ),
            Table("estimates", "Settings 1 and 2 with a log for each run: mean estimate beside the exact value.", estimates),
        ],
    )  # fmt: skip


# The experiments.


def environment(case: Case) -> Any:
    """The grid of a case."""
    return us.envs.NoisyGrid(case.bits, slip=case.slip)


def soft_policy(env: Any) -> np.ndarray:
    """Optimal with probability 1 - epsilon, ties shared; else any action."""
    value = env.optimal(GAMMA)
    best = np.isclose(value, value.max(axis=1, keepdims=True))
    return EPSILON / env.n_actions + (1 - EPSILON) * best / best.sum(axis=1, keepdims=True)


def policies(env: Any) -> dict[str, np.ndarray]:
    """What settings 1 and 2 evaluate."""
    uniform = np.full((env.n_observations, env.n_actions), 1 / env.n_actions)
    return {"setting 1": uniform, "setting 2": soft_policy(env)}


def learner(setting: str, env: Any) -> Callable[[int], Any]:
    """Who rehearses."""
    if setting == "setting 3":
        return grids.q_learning(env)
    policy = us.learners.FixedPolicy(policies(env)[setting])
    return lambda seed: us.learners.MonteCarlo(policy, gamma=GAMMA)


def measures(setting: str, env: Any) -> dict[str, Any]:
    """What is measured of a learner."""
    return grids.probes(env) if setting == "setting 3" else {"estimate": us.probes.estimate}


def simulators(env: Any, order: str) -> dict[str, Callable[[us.Log], Any]]:
    """The four simulators."""
    states = grids.states(env)
    return {
        PSRS_X: lambda log: us.psrs(log, order=order),
        PSRS_Z: lambda log: us.psrs(log, states, order=order),
        QBE_X: lambda log: us.qbe(log, stop="plain", order=order),
        QBE_Z: lambda log: us.qbe(log, states, stop="plain", order=order),
    }


def on_one_log(stage: Stage, settings: Settings, rules: grids.Conventions, case: Case) -> dict[str, Sets]:
    """All settings and simulators on one log, as in the paper."""
    env = environment(case)
    log = grids.record(env, settings.episodes, stage.seed, rules.cap)
    found: dict[str, Sets] = {}
    for setting in SETTINGS:
        order = "rows" if setting == "setting 1" else rules.order
        found[setting] = {
            name: stage.experiment(
                f"{case}/{setting}/{name}", simulator(log), learner(setting, env),
                runs=settings.runs, probes=measures(setting, env), every=settings.every,
            )
            for name, simulator in simulators(env, order).items()
        }  # fmt: skip
    return found


def on_own_logs(stage: Stage, settings: Settings, rules: grids.Conventions, case: Case) -> dict[str, Sets]:
    """The same, each run on a log of its own and in the conventions' order."""
    env = environment(case)
    return {
        setting: {
            name: stage.experiment(
                f"{case}/{setting}/{name}, own logs",
                grids.on_own_logs(simulator, env, settings.episodes, rules.cap), learner(setting, env),
                runs=settings.runs, probes=measures(setting, env), every=settings.every,
            )
            for name, simulator in simulators(env, rules.order).items()
        }
        for setting in SETTINGS
    }  # fmt: skip


def real_runs(stage: Stage, settings: Settings, rules: grids.Conventions, case: Case) -> Runs:
    """Q-learning in the true environment."""
    env = environment(case)
    return stage.experiment(
        f"{case}/setting 3/real", grids.real(env, rules.cap), grids.q_learning(env), max_steps=settings.real_steps,
        runs=settings.runs, probes=grids.probes(env), every=settings.every,
    )  # fmt: skip


def as_printed(stage: Stage, settings: Settings, rules: grids.Conventions, case: Case) -> dict[tuple[str, str], Sets]:
    """PSRS in the paper's row order, with its queue of openings and with openings by replacement."""
    env = environment(case)
    log = grids.record(env, settings.episodes, stage.seed, rules.cap)
    return {
        (setting, openings): {
            name: stage.experiment(
                f"{case}/{setting}/{name}, rows, {openings}", us.psrs(log, encoder, order="rows", openings=openings),
                learner(setting, env), runs=settings.runs, probes=measures(setting, env), every=settings.every,
            )
            for name, encoder in ((PSRS_X, None), (PSRS_Z, grids.states(env)))
        }
        for setting in ("setting 1", "setting 3")
        for openings in ("queue", "replacement")
    }  # fmt: skip


def replays(stage: Stage, settings: Settings, rules: grids.Conventions, case: Case) -> Runs:
    """Setting 1 in the exact order, where every run is the log."""
    env = environment(case)
    return stage.experiment(
        f"{case}/setting 1/exact order", us.psrs(grids.record(env, settings.episodes, stage.seed, rules.cap)),
        learner("setting 1", env), runs=min(10, settings.runs), probes=measures("setting 1", env), every=settings.every,
    )  # fmt: skip


# Tables.


def exact_values(case: Case) -> dict[str, float]:
    """The value that settings 1 and 2 estimate, at the start."""
    env = environment(case)
    observations, weights = env.start_observations()
    return {name: float(weights @ env.values(policy, GAMMA)[observations]) for name, policy in policies(env).items()}


def estimates_of(runs: Runs) -> np.ndarray:
    """The estimate that each run ended with."""
    return np.array([float(run.final["estimate"]) for run in runs])


def distinct(runs: Runs) -> int:
    """How many different estimates runs ended with, summing the same returns in any order."""
    return len(np.unique(estimates_of(runs).round(9)))


def flattened(found: Mapping[Case, Mapping[str, Sets]], settings: tuple[str, ...] = SETTINGS) -> Any:
    """(setting, case, name, runs), strip by strip."""
    return [
        (setting, case, name, runs)
        for setting in settings
        for case, sets in found.items()
        for name, runs in sets[setting].items()
    ]


def lengths_drawn(found: Mapping[Case, Mapping[str, Sets]]) -> Columns:
    """Median and quartiles of lengths, as `ranges` takes them."""
    rows = flattened(found)
    quartiles = [np.quantile(runs.lengths, [0.25, 0.5, 0.75]) for *_, runs in rows]
    return _panels(rows) | {
        "middle": [float(q[1]) for q in quartiles],
        "low": [float(q[0]) for q in quartiles],
        "high": [float(q[2]) for q in quartiles],
    }


def values_drawn(found: Mapping[Case, Mapping[str, Sets]]) -> Columns:
    """Estimates of settings 1 and 2, as `ranges` takes them."""
    rows = flattened(found, SETTINGS[:2])
    ends = [np.nanquantile(estimates_of(runs), [0.025, 0.975]) for *_, runs in rows]
    return _panels(rows) | {
        "middle": [float(np.nanmean(estimates_of(runs))) for *_, runs in rows],
        "low": [float(low) for low, _ in ends],
        "high": [float(high) for _, high in ends],
        "exact": [exact_values(case)[setting] for setting, case, *_ in rows],
    }


def _panels(rows: Any) -> dict[str, list[Any]]:
    return {
        "strip": [setting for setting, *_ in rows],
        "panel": [str(case) for _, case, *_ in rows],
        "set": [name for *_, name, _ in rows],
    }


def ratios_table(found: Mapping[Case, Mapping[str, Sets]]) -> Columns:
    """Medians side by side for each case and setting."""
    places = [(case, setting, sets[setting]) for case, sets in found.items() for setting in SETTINGS]
    medians = [{name: float(np.median(runs.lengths)) for name, runs in sets.items()} for *_, sets in places]
    return {
        "case": [str(case) for case, *_ in places],
        "setting": [setting for _, setting, _ in places],
        **{name: [median[name] for median in medians] for name in (PSRS_X, PSRS_Z, QBE_X, QBE_Z)},
        "PSRS: states / observations": [median[PSRS_Z] / median[PSRS_X] for median in medians],
        "QBE: states / observations": [median[QBE_Z] / median[QBE_X] for median in medians],
        "PSRS / QBE on observations": [median[PSRS_X] / median[QBE_X] for median in medians],
        "PSRS / QBE on states": [median[PSRS_Z] / median[QBE_Z] for median in medians],
    }


def printed_table(printed: Mapping[tuple[str, str], Sets]) -> Columns:
    """Lengths of PSRS in row order."""
    ratios = [ratio_of_medians(sets[PSRS_Z], sets[PSRS_X]) for sets in printed.values()]
    return {
        "setting": [setting for setting, _ in printed],
        "openings": [openings for _, openings in printed],
        PSRS_X: [float(np.median(sets[PSRS_X].lengths)) for sets in printed.values()],
        PSRS_Z: [float(np.median(sets[PSRS_Z].lengths)) for sets in printed.values()],
        "ratio": [ratio for ratio, _ in ratios],
        "95 % over runs": [interval for _, interval in ratios],
    }


def estimates_table(found: Mapping[Case, Mapping[str, Sets]]) -> Columns:
    """Mean estimates over independent runs beside exact values."""
    rows = flattened(found, SETTINGS[:2])
    means = [mean_with_interval(estimates_of(runs)) for *_, runs in rows]
    exact = [exact_values(case)[setting] for setting, case, *_ in rows]
    half = [(high - low) / 2 for _, (low, high) in means]
    return {
        "setting": [setting for setting, *_ in rows],
        "case": [str(case) for _, case, *_ in rows],
        "set": [name for *_, name, _ in rows],
        "exact value": exact,
        "mean estimate": [mean for mean, _ in means],
        "95 %": [interval for _, interval in means],
        "error / half width": [
            abs(mean - value) / width for (mean, _), value, width in zip(means, exact, half, strict=True)
        ],
    }


def stacked(tables: Mapping[str, Columns]) -> Columns:
    """Tables of the same columns, one after another, with a column that names them."""
    first = next(iter(tables.values()))
    names = [name for name, table in tables.items() for _ in table["set"]]
    return {"case": names} | {key: [value for table in tables.values() for value in table[key]] for key in first}


# What the numbers say.


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
                f"replacement: {between(replaced)}; in the exact order, a log for each run: {between(exact)}; the shortest "
                f"run of each: {shortest[0]:,} against {shortest[1]:,} steps. QBE on the same log: {between(qbe)}. (About "
                f"twice is {TWICE[0]} to {TWICE[1]}; intervals are 95 %.)",
            )
        )
    return findings


def shorter(own: Mapping[str, Sets]) -> Finding:
    """Setting 2 against setting 1."""
    ratios = {name: ratio_of_medians(own["setting 2"][name], own["setting 1"][name]) for name in (PSRS_X, PSRS_Z)}
    highest = max(high for _, (_, high) in ratios.values())
    lowest = min(low for _, (low, _) in ratios.values())
    told = listed(f"1/{1 / ratio:.0f} on {name.split(', ')[1]}" for name, (ratio, _) in ratios.items())
    holds = True if 1 / 15 <= lowest and highest <= 1 / 7 else False if highest < 1 / 15 or lowest > 1 / 7 else None
    return Finding(
        "Simulations in setting 2 are “about 1/10” as long as in setting 1.",
        holds,
        f"PSRS in the exact order: {told}, where ties between optimal actions are shared. (About 1/10 is 1/15 to 1/7.)",
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
    """Both PSRS simulations faithful in setting 3."""
    verdicts = {
        f"{name}, {case}": (verdict, interval[1], margin)
        for case, table in judged.items()
        for name, verdict, interval, margin in zip(
            table["set"], table["verdict"], table["95 %"], table["margin"], strict=True
        )
        if name in (PSRS_X, PSRS_Z)
    }
    said = [verdict for verdict, *_ in verdicts.values()]
    told = "; ".join(f"{name}: at most {high:.4f} ({verdict})" for name, (verdict, high, _) in verdicts.items())
    margin = max(margin for *_, margin in verdicts.values())
    return Finding(
        "“Both are accurate simulations”, setting 3.",
        True if set(said) == {"equivalent"} else False if "different" in said else None,
        f"Debiased error with a log for each run, upper end of 95 %, margin {margin:.3f}: {told}.",
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
        f"With a log for each run, the largest of {len(worst)} errors is {worst[name]:.2f} half widths of its 95 % interval "
        f"({name}); among so many, 1.5 would be no surprise.",
    )


def more_efficient(found: Mapping[Case, Mapping[str, Sets]]) -> Finding:
    """PSRS against QBE."""
    ratios = {
        f"{setting} on {keyed}, {case}": ratio_of_medians(sets[setting][psrs], sets[setting][qbe])
        for case, sets in found.items()
        for setting in SETTINGS
        for psrs, qbe, keyed in ((PSRS_X, QBE_X, "observations"), (PSRS_Z, QBE_Z, "states"))
    }
    longer = [name for name, (_, (low, _)) in ratios.items() if low > 1]
    not_longer = [name for name, (_, (_, high)) in ratios.items() if high < 1]
    told = "; ".join(f"{name}: {between(ratio)}" for name, ratio in ratios.items())
    return Finding(
        "PSRS “was shown to be more efficient than QBE”.",
        False if not_longer else True if len(longer) == len(ratios) else None,
        f"Of {len(ratios)} comparisons, a log for each run, PSRS lasts longer in {len(longer)}, QBE in "
        f"{len(not_longer)}, and {len(ratios) - len(longer) - len(not_longer)} cannot be told apart. {told}.",
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
        rows.append(Comparison(what, "“overlapping exactly”", found.rmse, found.floor, note="one log"))
    return rows
