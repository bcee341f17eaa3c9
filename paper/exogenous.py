"""Appendix B.4: a counter that actions do not change, which latent states lose and the exogenous algorithm keeps."""

from dataclasses import dataclass
from typing import Any

import understudy as us
from paper import grids
from paper.fidelity_and_efficiency import fidelity_and_efficiency_picture
from paper.items import Claim, Item, ItemTable, PaperValue, Picture
from paper.set_tables import by_set, common_horizon, curve_columns, fidelity_columns, lengths_columns
from paper.verdicts import all_longer, error_of, smaller
from paper.workspace import Workspace
from understudy.reporting.figures import learning_curves

TITLE = "An exogenous process: accurate only where its dynamics are kept (Figure 13, appendix B.4)"


@dataclass(frozen=True)
class Settings:
    """Sizes of the item."""

    runs: int = 100
    episodes: int = 1000
    period: int = 32
    real_steps: int = 75_000
    every: int = 500
    luck: tuple[int, int] = (20, 400)  # logs, and runs on them, that tell how much is the luck of a log


FULL, QUICK = Settings(), Settings(runs=20, episodes=300, period=8, real_steps=20_000, every=100, luck=(5, 20))

OBSERVATIONS, STATES, EXOGENOUS = "PSRS, observations", "PSRS, states", "exogenous PSRS"


def run(workspace: Workspace) -> Item:
    """Run Q-learning on the counter grid under three simulators, on one log and with a log for each run."""
    settings, rules = workspace.settings(FULL, QUICK), grids.conventions(workspace)
    env = us.envs.CounterGrid(settings.period)
    log = grids.record(env, settings.episodes, workspace.seed, rules.cap)
    make = grids.q_learning(env)
    options: dict[str, Any] = {"runs": settings.runs, "probes": grids.probes(env), "every": settings.every}
    oracles: dict[str, Any] = {"split": env.split, "merge": env.merge, "reward": env.reward}
    simulators = {
        OBSERVATIONS: lambda log: us.psrs(log, order=rules.order),
        STATES: lambda log: us.psrs(log, grids.states(env), order=rules.order),
        EXOGENOUS: lambda log: us.exo_psrs(log, **oracles, order=rules.order),
    }
    sets = {name: workspace.experiment(name, simulator(log), make, **options) for name, simulator in simulators.items()}

    logs, luck_runs = settings.luck
    drawn = (env, settings.episodes, rules.cap)
    own, few = (
        {
            name: workspace.experiment(f"{name}, {title}", factory(simulator), make, **options | {"runs": runs})
            for name, simulator in simulators.items()
        }
        for title, runs, factory in (
            ("own logs", settings.runs, lambda simulator: grids.on_own_logs(simulator, *drawn)),
            ("few logs", luck_runs, lambda simulator: grids.on_few_logs(simulator, *drawn, logs)),
        )
    )
    real = workspace.experiment("real", grids.real(env, rules.cap), make, max_steps=settings.real_steps, **options)

    horizon = common_horizon(real, *sets.values(), *own.values())
    together = fidelity_columns(own, real, rules.probe, horizon=horizon)
    judged = fidelity_columns(own, real, rules.probe)
    published = {name: us.fidelity(runs, real, grids.FIRST) for name, runs in sets.items()}
    lines, alongside = by_set(judged), by_set(together)
    longer = us.ratio_of_medians(own[STATES], own[OBSERVATIONS])
    exogenous = {name: us.ratio_of_medians(own[EXOGENOUS], own[name]) for name in (OBSERVATIONS, STATES)}
    shown = {**sets, "real": real}
    return Item(
        about=(
            f"Counter grid of period {settings.period}, a log of {settings.episodes:,} uniform episodes, Q-learning, "
            f"{settings.runs} runs of each set, on one log and with a log for each run."
        ),
        claims=[
            Claim(
                "PSRS on latent states is more efficient than on observations.",
                all_longer([longer.interval]),
                f"{longer.value:.2f} times as long ({longer.low:.2f} to {longer.high:.2f}, 95%).",
            ),
            Claim(
                "“PSRS using the latent states is not an accurate simulation” (though the figure's caption says that "
                "both have perfect fidelity).",
                {"different": True, "equivalent": False}.get(lines[STATES]["verdict"]),
                "With a log for each run, noise taken off, 95%, at a margin of a tenth of the real curve's range: "
                f"{error_of(lines[STATES])}; {error_of(lines[OBSERVATIONS])}.",
            ),
            Claim(
                "The exogenous algorithm is “more efficient” than the two.",
                all_longer(ratio.interval for ratio in exogenous.values()),
                "It lasts "
                + " and ".join(
                    f"{ratio.value:.2f} times as long as {name} ({ratio.low:.2f} to {ratio.high:.2f})"
                    for name, ratio in exogenous.items()
                )
                + ".",
            ),
            *(
                Claim(
                    f"The exogenous algorithm is “more accurate” than {name}.",
                    smaller(alongside[EXOGENOUS]["95%"], alongside[name]["95%"]),
                    f"Errors as above, over the {horizon:,} steps that all reached: {error_of(alongside[EXOGENOUS])}; "
                    f"{error_of(alongside[name])}.",
                )
                for name in (STATES, OBSERVATIONS)
            ),
        ],
        comparisons=[
            PaperValue("rows of the log", grids.LOG_ROWS, len(log)),
            *(
                PaperValue(
                    f"{name}, RMSE over {found.horizon:,} steps, as published", None, found.rmse,
                    us.one_log_floor(sets[name], few[name], real, grids.FIRST, found.horizon),
                    note=f"one log; probe: {grids.FIRST}",
                )
                for name, found in published.items()
            ),
        ],
        pictures=[
            Picture(
                "curves",
                f"Figure 13, left: mean curves of {settings.runs} runs on one log with 1.96 standard errors; dashed "
                "where some had stopped.",
                learning_curves(shown, rules.probe, "real", differences=True),
                curve_columns(shown, rules.probe),
            ),
            fidelity_and_efficiency_picture(
                f"Figure 13, right, over the {horizon:,} steps that all reached", own, together
            ),
        ],
        tables=[
            ItemTable("lengths", "How long runs on one log lasted.", lengths_columns(sets)),
            ItemTable(
                "fidelity-together", f"Fidelity over {horizon:,} steps, which all reached; a log each.", together
            ),
            ItemTable("fidelity", "Fidelity of each over its own horizon; a log for each run.", judged),
            ItemTable(
                "fidelity-one-log", "The same on one log, as in the paper.", fidelity_columns(sets, real, rules.probe)
            ),
        ],
    )  # fmt: skip
