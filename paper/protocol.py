"""Figures 1 and 2: policy evaluation beside learner simulation, and how a simulation is judged."""

from dataclasses import dataclass
from typing import Any

import numpy as np

import understudy as us
from paper import grids
from paper.concept_figure import evaluation_and_simulation
from paper.fidelity_and_efficiency import fidelity_and_efficiency_picture
from paper.items import Claim, Item, ItemTable, PaperValue, Picture
from paper.set_tables import by_set, curve_columns, fidelity_columns
from paper.verdicts import error_of, smaller
from paper.workspace import Workspace
from understudy.evaluation.luck import readings_up_to
from understudy.reporting.figures import learning_curves
from understudy.runs import Runs

TITLE = "Evaluating a simulation: how long, and how close (Figures 1 and 2)"


@dataclass(frozen=True)
class Settings:
    """Sizes of the item."""

    runs: int = 100
    episodes: int = 1000
    period: int = 32
    cut: tuple[int, int] = (50_000, 100_000)  # where sim1 and sim2 are truncated
    every: int = 500
    luck: tuple[int, int] = (20, 400)  # logs, and runs on them, that tell how much is the luck of a log


FULL = Settings()
QUICK = Settings(runs=20, episodes=300, period=8, cut=(10_000, 20_000), every=200, luck=(5, 20))

BARS = {"sim1": 0.0068, "sim2": 0.0649}
"""RMSE over 50,000 steps: the bars in Figure 2's inset, measured in the vector drawing that was published with it."""


CLOSE = 0.05
"""What we take “converged” to mean: this share of the real curve's range."""


def run(workspace: Workspace) -> Item:
    """Run model-based simulations of Q-learning, in observations (sim1) and in states (sim2), beside real runs."""
    settings, rules = workspace.settings(FULL, QUICK), grids.conventions(workspace)
    env = us.envs.CounterGrid(settings.period)
    log = grids.record(env, settings.episodes, workspace.seed, rules.cap)
    early, late = settings.cut
    options: dict[str, Any] = {"runs": settings.runs, "probes": grids.probes(env), "every": settings.every}

    def sim1(log: us.Log) -> Any:
        return us.model(log)

    def sim2(log: us.Log) -> Any:
        return us.model(log, grids.states(env), emission=rules.emission)

    make = grids.q_learning(env)
    real = workspace.experiment("real", grids.real(env, rules.cap), make, max_steps=late, **options)
    simulators = {"sim1": (sim1, early), "sim2": (sim2, late)}
    sets = {
        name: workspace.experiment(name, simulator(log), make, max_steps=cut, **options)
        for name, (simulator, cut) in simulators.items()
    }
    logs, luck_runs = settings.luck
    drawn = (env, settings.episodes, rules.cap)
    own, few = (
        {
            name: workspace.experiment(
                f"{name}-{title}", factory(simulator), make, max_steps=cut, **options | {"runs": runs}
            )
            for name, (simulator, cut) in simulators.items()
        }
        for title, runs, factory in (
            ("own-logs", settings.runs, lambda simulator: grids.on_own_logs(simulator, *drawn)),
            ("few-logs", luck_runs, lambda simulator: grids.on_few_logs(simulator, *drawn, logs)),
        )
    )
    titled = {f"{name}, a log each": runs for name, runs in own.items()}
    probe = rules.probe
    at_early = fidelity_columns(sets | titled, real, probe, horizon=early)
    at_late = fidelity_columns({name: (sets | titled)[name] for name in ("sim2", "sim2, a log each")}, real, probe)
    first = {name: us.fidelity(runs, real, grids.FIRST, horizon=early) for name, runs in sets.items()}
    on_own = fidelity_columns(own, real, probe, horizon=early)
    lines = by_set(at_early)
    mine, theirs = lines["sim1, a log each"], lines["sim2, a log each"]

    def floor_of(name: str, probe: str, horizon: int) -> float:
        return us.one_log_floor(sets[name], few[name], real, probe, horizon)

    claims = [
        Claim(
            'For T=50000, “sim1 is a more "accurate" simulation than sim2” (section 2.1).',
            smaller(mine["95%"], theirs["95%"]),
            f"Over {early:,} steps, with a log for each run and noise taken off, sim1's error is at most "
            f"{mine['95%'][1]:.4f} and sim2's at least {theirs['95%'][0]:.4f} (95%).",
        ),
        Claim(
            "“Using the observation-space model is not a high-fidelity simulation, since its learning curve starts to "
            "deviate from online Q-learning after around 20,000 training steps” (appendix B.1; that is sim1, and "
            "section 2.1 says the contrary).",
            {"equivalent": False, "different": True}.get(mine["verdict"]),
            f"Over {early:,} steps sim1's RMSE is {lines['sim1']['RMSE']:.4f} on one log, where noise would make it "
            f"{floor_of('sim1', probe, early):.4f}. The error with noise taken off, at a margin of a tenth of the "
            f"curve's range: {error_of(mine)}; {error_of(theirs)}.",
        ),
        converged(sets["sim2"], real, probe, early, late),
    ]
    comparisons = [
        PaperValue("rows of the log", grids.LOG_ROWS, len(log)),
        *(
            PaperValue(
                f"{name}, RMSE over {early:,} steps, as published", BARS[name], found.rmse,
                floor_of(name, grids.FIRST, early),
                note=f"probe: {grids.FIRST}; the paper's is a bar of its drawing, measured",
            )
            for name, found in first.items()
        ),
        *(
            PaperValue(
                f"{name}, RMSE over {early:,} steps", None, lines[name]["RMSE"], floor_of(name, probe, early),
                note=f"probe: {probe}",
            )
            for name in sets
        ),
        PaperValue(
            f"sim2, RMSE over {late:,} steps", None, at_late["RMSE"][0], floor_of("sim2", probe, late),
            note=f"probe: {probe}; sim1 is not defined there",
        ),
        *(
            PaperValue(f"{name}, efficiency (steps)", cut, float(us.efficiency(sets[name]).steps), note="cut there")
            for name, cut in zip(sets, FULL.cut, strict=True)
        ),
    ]  # fmt: skip
    shown = {**sets, "real": real}
    return Item(
        about=(
            f"Counter grid of period {settings.period}, a log of {settings.episodes:,} uniform episodes, Q-learning, "
            f"{settings.runs} runs of each set. sim1 draws from the maximum-likelihood model of observations, sim2 "
            f"from that of states with observations drawn anew ({rules.emission}); neither runs out, so both are cut."
        ),
        claims=claims,
        comparisons=comparisons,
        pictures=[
            Picture(
                "ope-and-ols",
                "Figure 1: off-policy evaluation asks what a fixed policy would earn; offline learner simulation "
                "answers a learner step by step, so that its policy can change.",
                *evaluation_and_simulation(),
            ),
            Picture(
                "curves",
                f"Figure 2: mean curves of {settings.runs} runs with 1.96 standard errors. sim1 is cut at {early:,} "
                f"steps.",
                learning_curves(shown, probe, "real", differences=True),
                curve_columns(shown, probe),
            ),
            fidelity_and_efficiency_picture(f"Figure 2, inset, over {early:,} steps", own, on_own),
        ],
        tables=[
            ItemTable("fidelity-early", f"Fidelity over {early:,} steps ({probe}).", at_early),
            ItemTable("fidelity-late", f"Fidelity over {late:,} steps ({probe}).", at_late),
        ],
    )


def converged(sim2: Runs, real: Runs, probe: str, early: int, late: int) -> Claim:
    """sim2, cut late, ends where the real learner does."""
    ends = [readings_up_to(runs, probe, late)[:, -1] for runs in (sim2, real)]
    apart = float(ends[0].mean() - ends[1].mean())
    noise = 1.96 * float(np.sqrt(sum(end.var(ddof=1) / len(end) for end in ends)))
    middle = [float(readings_up_to(runs, probe, early)[:, -1].mean()) for runs in (sim2, real)]
    close = CLOSE * float(np.ptp(readings_up_to(real, probe, late).mean(axis=0)))
    return Claim(
        "“sim2 eventually converged to the correct policy after T=50000” (section 2.1).",
        True if abs(apart) + noise < close else False if abs(apart) - noise > close else None,
        f"Its mean curve is {middle[0] - middle[1]:+.4f} from real after {early:,} steps, and {apart:+.4f} after "
        f"{late:,} (plus or minus {noise:.4f}); to have converged is to be within {close:.4f}, {CLOSE:.0%} of the real "
        "curve's range.",
    )
