"""The luck of one log: how far a mean curve is off because all of its runs replay the same log.

An exact simulator gives the right curve on average over logs. On a single log it does not: which rows the log happens
to hold shifts the curves of all runs alike, however many runs there are. Runs on several logs tell how large that is.
"""

from collections.abc import Callable

import numpy as np

from understudy.contracts import Simulator
from understudy.errors import SettingError
from understudy.runs import Runs
from understudy.settings import whole


class FewLogs:
    """A factory of simulators that makes only a few, and gives each of them to many seeds."""

    def __init__(self, factory: Callable[[int], Simulator], logs: int) -> None:
        self.factory, self.logs = factory, logs
        self._made: dict[int, Simulator] = {}

    def __call__(self, seed: int) -> Simulator:
        number = seed % self.logs
        if number not in self._made:
            self._made[number] = self.factory(number)
        return self._made[number]


def on_few_logs(factory: Callable[[int], Simulator], logs: int) -> Callable[[int], Simulator]:
    """Return a factory for `experiment` whose runs are spread over so many logs, several runs on each.

    `factory(seed)` records a log with this seed and returns a simulator on it, as for runs with a log each; it is
    called with the seeds 0 to `logs` - 1 only. Use it for the runs that `luck_of_logs` and `one_log_floor` need.
    """
    if not callable(factory):
        raise SettingError(f"give a function seed -> simulator, not {factory!r}")
    return FewLogs(factory, whole("logs", logs))


def luck_of_logs(runs: Runs, probe: str | None = None, horizon: int | None = None) -> float:
    """Return the variance of the mean curve from log to log, averaged over its readings up to a horizon.

    `runs` are several runs on each of several logs: `experiment(on_few_logs(factory, 20), make, runs=400)`. Its square
    root is how far a curve on one log is typically off, even with infinitely many runs. The estimate is that of a
    one-way analysis of variance, the variance of the logs' means less the part that is due to runs; it can be
    negative where there is little luck. The probe is by default the first, the horizon the largest step that all runs
    reached. Raise `SettingError` where the runs do not have several runs on each of several logs.
    """
    probe, horizon = _probe(runs, probe), _horizon(horizon, runs)
    names = [run.log for run in runs]
    n_logs = len(set(names))
    if None in names or not 1 < n_logs < len(names):
        raise SettingError(
            f"the luck of logs needs several runs on each of several logs, but these are {len(names)} runs on "
            f"{n_logs} {'log' if n_logs == 1 else 'logs'}; make them with experiment(on_few_logs(factory, logs), ...)"
        )
    curves, log = readings_up_to(runs, probe, horizon), np.unique(np.array(names, str), return_inverse=True)[1]
    counts = np.bincount(log)
    means = np.stack([np.bincount(log, column) for column in curves.T], axis=1) / counts[:, None]
    within = ((curves - means[log]) ** 2).sum(axis=0) / (len(runs) - len(counts))
    between = (counts[:, None] * (means - curves.mean(axis=0)) ** 2).sum(axis=0) / (len(counts) - 1)
    typical = (len(runs) - (counts**2).sum() / len(runs)) / (len(counts) - 1)  # runs on a log, where counts differ
    return float(np.mean(between - within) / typical)


def one_log_floor(
    one_log: Runs, few_logs: Runs, reference: Runs, probe: str | None = None, horizon: int | None = None
) -> float:
    """Return the RMSE that an exact simulator would show on one log: its luck, and the spread of runs.

    Use it to read `fidelity(one_log, reference).rmse` of runs that share a log: an RMSE about as large as this does
    not speak against the simulator. `few_logs` are runs of the same simulator and learner on several logs, as for
    `luck_of_logs`; `reference` are those that `one_log` is compared with, mostly real ones. The horizon is at most the
    largest step that all runs of all three reached. For a verdict on a simulator, give each run a log of its own
    instead.
    """
    probe = _probe(one_log, probe)
    horizon = _horizon(horizon, one_log, few_logs, reference)
    luck = luck_of_logs(few_logs, probe, horizon)
    spread = (
        float(np.mean(readings_up_to(runs, probe, horizon).var(axis=0, ddof=1))) / len(runs)
        for runs in (one_log, reference)
    )
    return float(np.sqrt(max(0.0, luck) + sum(spread)))


def readings_up_to(runs: Runs, probe: str, horizon: int) -> np.ndarray:
    """Return the readings of a probe up to a step that all runs reached, (runs, readings)."""
    steps, curves = runs.curve(probe)
    return curves[:, steps <= horizon]


def _probe(runs: Runs, probe: str | None) -> str:
    if probe is None and not runs.probes:
        raise SettingError("these runs have no probe; give probes= to experiment")
    return runs.probes[0] if probe is None else probe


def _horizon(horizon: int | None, *sets: Runs) -> int:
    """The largest step that every run of every set reached, or the one asked for if that is smaller."""
    common = int(min(runs.lengths.min() for runs in sets))
    return common if horizon is None else min(whole("horizon", horizon), common)
