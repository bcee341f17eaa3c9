"""Figures 1 and 2: policy evaluation beside learner simulation, and how a simulation is judged."""

from dataclasses import dataclass
from typing import Any

import understudy as us
from understudy.paper import grids
from understudy.paper.drawing import evaluation_and_simulation
from understudy.paper.items import Comparison, Finding, Item, Picture, Table
from understudy.paper.measuring import curve_columns, fidelity_columns, one_log_floor
from understudy.paper.stage import Stage
from understudy.reporting.plots import learning_curves

TITLE = "Evaluating a simulation: how long, and how close (Figures 1 and 2)"


@dataclass(frozen=True)
class Settings:
    """Sizes of the item."""

    runs: int = 100
    episodes: int = 1000
    period: int = 32
    cut: tuple[int, int] = (50_000, 100_000)  # where sim1 and sim2 are truncated
    every: int = 500


FULL, QUICK = Settings(), Settings(runs=20, episodes=300, period=8, cut=(10_000, 20_000), every=200)

LOG_ROWS = 134_925
BARS = {"sim1": 0.0068, "sim2": 0.0649}
"""RMSE over 50,000 steps: the bars in Figure 2's inset, measured in the vector drawing that was published with it."""


def run(stage: Stage) -> Item:
    """Model-based simulations of Q-learning, in observations (sim1) and in states (sim2), beside real runs."""
    settings, rules = stage.settings(FULL, QUICK), grids.conventions(stage)
    env = us.envs.CounterGrid(settings.period)
    log = grids.record(env, settings.episodes, stage.seed, rules.cap)
    early, late = settings.cut
    options: dict[str, Any] = {"runs": settings.runs, "probes": grids.probes(env), "every": settings.every}

    def sim1(log: us.Log) -> Any:
        return us.model(log)

    def sim2(log: us.Log) -> Any:
        return us.model(log, grids.states(env), emission=rules.emission)

    make = grids.q_learning(env)
    real = stage.experiment("real", grids.real(env, rules.cap), make, max_steps=late, **options)
    sets = {
        "sim1": stage.experiment("sim1", sim1(log), make, max_steps=early, **options),
        "sim2": stage.experiment("sim2", sim2(log), make, max_steps=late, **options),
    }
    own = {
        f"{name}, a log each": stage.experiment(
            f"{name}-own-logs",
            grids.on_own_logs(simulator, env, settings.episodes, rules.cap), make, max_steps=cut, **options,
        )
        for name, simulator, cut in (("sim1", sim1, early), ("sim2", sim2, late))
    }  # fmt: skip

    probe = rules.probe
    at_early = fidelity_columns(sets | own, real, probe, horizon=early)
    at_late = fidelity_columns({"sim2": sets["sim2"], "sim2, a log each": own["sim2, a log each"]}, real, probe)
    first = {name: us.fidelity(runs, real, grids.FIRST, horizon=early) for name, runs in sets.items()}
    rmse = dict(zip(at_early["set"], at_early["RMSE"], strict=True))
    floor = dict(zip(at_early["set"], at_early["noise floor"], strict=True))
    verdict = dict(zip(at_early["set"], at_early["verdict"], strict=True))
    error = dict(zip(at_early["set"], at_early["95 %"], strict=True))
    mine, theirs = "sim1, a log each", "sim2, a log each"

    def floor_of(name: str, probe: str, horizon: int) -> float:
        return one_log_floor(sets[name], own[f"{name}, a log each"], real, probe, horizon)

    findings = [
        Finding(
            f"“For T = {early:,}, sim1 is a more accurate simulation than sim2” (section 2.1).",
            True if error[mine][1] < error[theirs][0] else False if error[mine][0] > error[theirs][1] else None,
            f"With a log for each run and noise taken off, sim1's error is at most {error[mine][1]:.4f} and sim2's at "
            f"least {error[theirs][0]:.4f} (95 %).",
        ),
        Finding(
            "“Using the observation-space model is not a high-fidelity simulation” (appendix B.1; that is sim1).",
            {"equivalent": False, "different": True}.get(verdict[mine]),
            f"Over {early:,} steps sim1's RMSE is {rmse['sim1']:.4f} on one log, where the noise floor is "
            f"{floor['sim1']:.4f}; with a log for each run its error is between {error[mine][0]:.4f} and "
            f"{error[mine][1]:.4f}: {verdict[mine]} at a tenth of the curve's range. sim2's is between "
            f"{error[theirs][0]:.4f} and {error[theirs][1]:.4f}: {verdict[theirs]}.",
        ),
    ]
    comparisons = [
        Comparison("rows of the log", LOG_ROWS, len(log)),
        *(
            Comparison(
                f"{name}, RMSE over {early:,} steps, as published", BARS[name], found.rmse,
                floor_of(name, grids.FIRST, early), note=f"probe: {grids.FIRST}",
            )
            for name, found in first.items()
        ),
        *(
            Comparison(
                f"{name}, RMSE over {early:,} steps", None, rmse[name], floor_of(name, probe, early),
                note=f"probe: {probe}",
            )
            for name in sets
        ),
        Comparison(
            f"sim2, RMSE over {late:,} steps", None, at_late["RMSE"][0], floor_of("sim2", probe, late),
            note=f"probe: {probe}; sim1 is not defined there",
        ),
        *(
            Comparison(f"{name}, efficiency (steps)", cut, float(us.efficiency(sets[name]).steps), note="cut there")
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
        findings=findings,
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
        ],
        tables=[
            Table("fidelity-early", f"Fidelity over {early:,} steps ({probe}).", at_early),
            Table("fidelity-late", f"Fidelity over {late:,} steps ({probe}).", at_late),
        ],
    )
