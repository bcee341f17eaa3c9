"""Figure 3 and appendix B.2: the grid with noise bits, under two fixed policies and Q-learning."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import understudy as us
from paper import discrete_claims as claims
from paper import discrete_tables as tables
from paper import grids
from paper.curve_figures import curves_by_case
from paper.fidelity_and_efficiency import fidelity_and_efficiency_picture
from paper.items import Item, ItemTable, Picture
from paper.noisy_grid import (
    CONTROL,
    EPSILON,
    GAMMA,
    PSRS_X,
    PSRS_Z,
    SETTINGS,
    Case,
    Sets,
    environment,
    learner,
    measures,
    simulators,
)  # fmt: skip
from paper.range_figure import ranges
from paper.set_tables import curve_columns, fidelity_columns, run_columns
from paper.workspace import Workspace
from understudy.reporting.figures import curves_of_runs
from understudy.runs import Runs

TITLE = "Discrete observations: latent states make simulations longer (Figure 3, appendix B.2)"


@dataclass(frozen=True)
class Settings:
    """Sizes of the item."""

    runs: int = 100
    episodes: int = 1000
    cases: tuple[Case, ...] = (Case(1), Case(2), Case(3), Case(4), Case(4, 0.2))
    shown: tuple[Case, ...] = (Case(4), Case(4, 0.2))  # with all settings, and a control, on a log for each run
    real_steps: int = 70_000
    every: int = 500
    luck: tuple[int, int] = (20, 400)  # logs, and runs on them, that tell how much is the luck of a log


FULL = Settings()
QUICK = Settings(runs=20, episodes=150, cases=(Case(4), Case(4, 0.2)), real_steps=12_000, every=100, luck=(5, 20))

MARGIN = 0.015
"""The largest error of the start value that is called faithful; curves fall to about -.3 and end at about .1."""


def run(workspace: Workspace) -> Item:
    """Run every case under every setting and simulator, and judge what the paper claims of them."""
    settings, rules = workspace.settings(FULL, QUICK), grids.conventions(workspace)
    one_log = {case: on_one_log(workspace, settings, rules, case) for case in settings.cases}
    own_logs = {case: on_own_logs(workspace, settings, rules, case) for case in settings.cases}
    real = {case: real_runs(workspace, settings, rules, case) for case in settings.cases}
    main = settings.shown[0]
    printed = as_printed(workspace, settings, rules, main, one_log[main])
    against = tables.against_qbe(own_logs)
    replayed = replays(workspace, settings, rules, main)
    few_logs = on_few_logs(workspace, settings, rules, main)
    order = "paper's row order" if workspace.authors else "exact order"

    judged = {
        case: fidelity_columns(own_logs[case]["setting 3"], real[case], rules.probe, margin=MARGIN)
        for case in settings.cases
    }
    lengths = tables.lengths_drawn(one_log)
    values = tables.values_drawn(one_log)
    drawn = {str(case): {**sets["setting 3"], "real": real[case]} for case, sets in one_log.items()}
    pictures = [
        Picture(
            "lengths",
            "How long simulations last: medians of runs on one log, and quartiles. Setting 1 is drawn in the paper's "
            f"row order; settings 2 and 3 in the {order}.",
            ranges(lengths, unit="steps"),
            lengths,
        ),
        Picture(
            "values",
            f"Monte-Carlo estimates when runs stopped: their mean and the middle 95% of {settings.runs} runs on one "
            "log, beside the exact value (the line). All runs share the luck of that log.",
            ranges(values, unit="minus the exact value"),
            values,
        ),
        Picture(
            "curves-by-case",
            f"Setting 3: mean curves of Q-learning's {rules.probe} with 1.96 standard errors, dashed where some had "
            "stopped; beneath, each minus the real mean.",
            curves_by_case(drawn, rules.probe, "real"),
            tables.stacked({case: curve_columns(sets, rules.probe) for case, sets in drawn.items()}),
        ),
        Picture(
            "runs",
            f"Figure 3, middle: setting 3, {main}, run by run on one log. The thick line is the mean of a set, the "
            "black one that of the real runs.",
            curves_of_runs(drawn[str(main)], rules.probe, "real"),
            run_columns(drawn[str(main)], rules.probe),
        ),
        fidelity_and_efficiency_picture(
            f"Figure 3, right: setting 3, {main}", own_logs[main]["setting 3"], judged[main]
        ),
    ]
    shown = {case: own_logs[case] for case in settings.shown}
    estimates = tables.estimates_table(shown)
    return Item(
        about=(
            f"A log of {settings.episodes:,} uniform episodes for each case, {settings.runs} runs of each set. Setting "
            f"1 evaluates the uniform policy and setting 2 an epsilon-soft optimal one (epsilon {EPSILON}, ties "
            f"shared) by Monte Carlo, discount {GAMMA}; setting 3 is Q-learning. QBE is as printed: it stops when the "
            "drawn action has no row."
        ),
        claims=[
            claims.replays_the_log(replayed, replayed.about.log_rows or 0, tables.distinct(replayed)),
            *claims.twice_as_long(own_logs[main], printed, order),
            *claims.shorter(own_logs[main], order),
            *claims.ordered(own_logs, settings.shown),
            *claims.tighter(one_log[main]),
            claims.all_samples(one_log[main], replayed.about.log_rows or 0),
            claims.accurate(judged),
            claims.unbiased(estimates),
            *claims.more_efficient(against),
        ],
        comparisons=claims.compared(one_log[main], own_logs[main], few_logs, real[main], rules.probe),
        pictures=pictures,
        tables=[
            ItemTable("ratios", "Median lengths on one log, and how they compare.", tables.ratios_table(one_log)),
            ItemTable(
                "printed", f"PSRS as printed (row order), {main}: median lengths.", tables.printed_table(printed)
            ),
            ItemTable("against-qbe", f"PSRS / QBE, ratio of median lengths; a log for each run, {order}.", against),
            ItemTable(
                "ratios-own-logs",
                f"States / observations, ratio of median lengths; a log for each run, {order}.",
                tables.own_ratios(own_logs),
            ),
            ItemTable(
                "fidelity",
                f"Setting 3 with a log for each run ({rules.probe}), each over its own horizon.",
                tables.stacked({str(case): table for case, table in judged.items()}),
            ),
            ItemTable(
                "fidelity-one-log",
                "Setting 3 on one log, as in the paper: RMSE beside the noise floor of runs.",
                tables.stacked({
                    str(case): fidelity_columns(sets["setting 3"], real[case], rules.probe)
                    for case, sets in one_log.items()
                }),
            ),
            ItemTable(
                "estimates", "Settings 1 and 2 with a log for each run: estimates beside exact values.", estimates
            ),
        ],
    )  # fmt: skip


def run_set(
    workspace: Workspace, settings: Settings, case: Case, setting: str, name: str, simulator: Any, **more: Any
) -> Runs:
    """Return one set of runs."""
    env = environment(case)
    options: dict[str, Any] = {"runs": settings.runs, "probes": measures(setting, env), "every": settings.every} | more
    return workspace.experiment(f"{case}/{setting}/{name}", simulator, learner(setting, env), **options)


def on_one_log(workspace: Workspace, settings: Settings, rules: grids.Conventions, case: Case) -> dict[str, Sets]:
    """All settings and simulators on one log, as in the paper."""
    env = environment(case)
    log = grids.record(env, settings.episodes, workspace.seed, rules.cap)
    return {
        setting: {
            name: run_set(workspace, settings, case, setting, name, simulator(log))
            for name, simulator in simulators(env, "rows" if setting == "setting 1" else rules.order).items()
        }
        for setting in SETTINGS
    }


def on_own_logs(workspace: Workspace, settings: Settings, rules: grids.Conventions, case: Case) -> dict[str, Sets]:
    """The same with a log for each run; setting 1 only in cases that are shown, in the order of the others."""
    env = environment(case)
    wanted = SETTINGS if case in settings.shown else SETTINGS[1:]

    def made(simulator: Any) -> Any:
        return grids.on_own_logs(simulator, env, settings.episodes, rules.cap)

    found = {
        setting: {
            name: run_set(workspace, settings, case, setting, f"{name}, own logs", made(simulator))
            for name, simulator in simulators(env, rules.order).items()
        }
        for setting in wanted
    }
    if case not in settings.shown:
        return found
    control = made(lambda log: us.states_only(log, grids.states(env)))
    most = {"max_steps": settings.real_steps}
    for setting in SETTINGS[1:]:
        found[setting][CONTROL] = run_set(workspace, settings, case, setting, f"{CONTROL}, own logs", control, **most)
    for name in (PSRS_X, PSRS_Z):
        shuffled = made(simulators(env, "rows")[name])
        found["setting 1"][f"{name}, row order"] = run_set(
            workspace, settings, case, "setting 1", f"{name}, row order, own logs", shuffled
        )
    return found


def on_few_logs(workspace: Workspace, settings: Settings, rules: grids.Conventions, case: Case) -> Sets:
    """Q-learning under PSRS, several runs on each of a few logs."""
    env, (logs, runs) = environment(case), settings.luck
    made = simulators(env, rules.order)
    return {
        name: run_set(
            workspace, settings, case, "setting 3", f"{name}, few logs",
            grids.on_few_logs(made[name], env, settings.episodes, rules.cap, logs), runs=runs,
        )
        for name in (PSRS_X, PSRS_Z)
    }  # fmt: skip


def real_runs(workspace: Workspace, settings: Settings, rules: grids.Conventions, case: Case) -> Runs:
    """Q-learning in the true environment."""
    true = grids.real(environment(case), rules.cap)
    return run_set(workspace, settings, case, "setting 3", "real", true, max_steps=settings.real_steps)


def as_printed(
    workspace: Workspace, settings: Settings, rules: grids.Conventions, case: Case, one_log: Mapping[str, Sets]
) -> dict[tuple[str, str], Sets]:
    """PSRS in the paper's row order, with its queue of openings and with openings by replacement."""
    env = environment(case)
    log = grids.record(env, settings.episodes, workspace.seed, rules.cap)

    def shuffled(setting: str, openings: str) -> Sets:
        return {
            name: run_set(
                workspace, settings, case, setting, f"{name}, rows, {openings}",
                us.psrs(log, encoder, order="rows", openings=openings),
            )
            for name, encoder in ((PSRS_X, None), (PSRS_Z, grids.states(env)))
        }  # fmt: skip

    return {
        ("setting 1", "queue"): one_log["setting 1"],  # which is in row order anyway
        ("setting 1", "replacement"): shuffled("setting 1", "replacement"),
        ("setting 3", "queue"): shuffled("setting 3", "queue"),
        ("setting 3", "replacement"): shuffled("setting 3", "replacement"),
    }


def replays(workspace: Workspace, settings: Settings, rules: grids.Conventions, case: Case) -> Runs:
    """Setting 1 in the exact order, where every run is the log."""
    log = grids.record(environment(case), settings.episodes, workspace.seed, rules.cap)
    few = min(10, settings.runs)
    return run_set(workspace, settings, case, "setting 1", "exact order", us.psrs(log), runs=few)
