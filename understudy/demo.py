"""The main job on a log it records itself: check, simulate, compare with the true environment, write the page."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import understudy as us
from understudy.envs import NoisyGrid
from understudy.logs import Audit, Log
from understudy.reporting.belief import belief
from understudy.reporting.decision import advice
from understudy.reporting.measurements import Measurements, measure
from understudy.reporting.page import write_page
from understudy.runs import Runs

EPISODES = 1000
BITS = 4
LEARNER: dict[str, Any] = {"epsilon": 0.9, "alpha": 0.5, "gamma": 0.95}
EVERY = 1000
EXACT = ("PSRS, observations", "PSRS, latent states", "QBE, latent states")
"""The simulators whose answer may be the truth: for these, halves of the log tell how far to believe it."""

HALVES, FEWEST_HALVES = 20, 5


class Demo(NamedTuple):
    """The results of the demo."""

    log: Log
    audit: Audit
    measured: Measurements
    page: Path

    @property
    def runs(self) -> dict[str, Runs]:
        """The runs of each simulator, by name."""
        return self.measured.runs


def record_log(seed: int, episodes: int = EPISODES) -> tuple[NoisyGrid, Log]:
    """Return the paper's grid with noise bits, and a log of it under a uniform policy."""
    env = NoisyGrid(BITS)
    return env, us.record(env, episodes=episodes, seed=seed)


def demo(
    page: Any = "report.html",
    *,
    runs: int = 100,
    seed: int = 0,
    workers: int | None = None,
    tell: Callable[[str], Any] = print,
    command: str | None = None,
) -> Demo:
    """Rehearse Q-learning under six simulators beside the true environment, tell how far to believe it, write the page.

    There is no self-check: it is for logs without a true environment, and rejects one log of twenty by chance.
    `tell` is called with what is found on the way, a text each time; `command` is what was typed, for the page.
    """
    env, log = record_log(seed)
    tell(f"Recorded {log.n_episodes:,} episodes, {len(log):,} rows, of the 5x5 grid with {BITS} noise bits.")
    audit = us.check(log)
    tell(str(audit))
    latent = us.encoders.Function(env.latent)
    simulators = {
        "PSRS, observations": us.psrs(log),
        "PSRS, latent states": us.psrs(log, latent),
        "QBE, latent states": us.qbe(log, latent),
        "states only": us.states_only(log, latent),
        "actions only": us.actions_only(log, latent),
        "any row": us.any_row(log, latent),
    }

    def make(seed: int) -> us.Learner:
        return us.learners.QLearning(env.n_observations, env.n_actions, **LEARNER, seed=seed)

    probes = {"start value": us.probes.start_value(env)}
    options: dict[str, Any] = {"runs": runs, "seed": seed, "probes": probes, "every": EVERY, "workers": workers}
    forecasts, results = {}, {}
    for name, simulator in simulators.items():
        if name in EXACT and runs >= FEWEST_HALVES:
            forecasts[name] = us.forecast(simulator, make, seed=seed, workers=workers)
            n_halves = min(HALVES, runs)
            results[name] = us.halves(simulator, make, title=name, halves=n_halves, **options).runs
        else:
            results[name] = us.experiment(simulator, make, title=name, **options)
    longest = max(int(result.lengths.max()) for result in results.values())
    results["real"] = us.experiment(us.real(env, latent), make, max_steps=longest, title="real", **options)
    title = f"Q-learning rehearsed on {log.n_episodes:,} logged episodes of a noisy grid"
    measured, states = measure(results, forecasts=forecasts), latent.audit(log)
    verdict = belief(measured, audit, states)
    if (told := advice(measured, verdict)) is not None:
        tell("\n".join(["", told.sentence, *(f"  {sentence}" for sentence in told.evidence)]))
    tell(f"\n{verdict}\n")
    path = write_page(measured, page, audit=audit, states=states, title=title, command=command)
    return Demo(log, audit, measured, path)
