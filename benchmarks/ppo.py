"""What is claimed of PPO's speed: acting ahead, and epochs of one run and of ten that are stacked."""

import time

import numpy as np

import understudy as us
from understudy.runs.stacked import BLOCK

EPOCH = 5_000


def world(n_rows=1_000_000):
    """PSRS on a log of the continuous grid, with its true cells for states, and a learner for it."""
    env = us.envs.ContinuousGrid()
    log = us.Log.from_columns(**env.rollout_cells(np.full((25, 5), 0.2), steps=n_rows, seed=1))
    simulator = us.psrs(log, us.encoders.Function(env.latent))

    def make(seed, **settings):
        return us.learners.PPO(log.spec, seed=seed, device="cpu", **settings)

    return simulator, make


def cpu_seconds(call, repeats):
    """Of the quickest of some calls."""
    times = []
    for _ in range(repeats):
        begun = time.process_time()
        call()
        times.append(time.process_time() - begun)
    return min(times)


def acting_time(simulator, make, compiled, epochs):
    """CPU-seconds a step of acting and noting: a learner whose updates do nothing."""
    idle = {"policy_iterations": 0, "value_iterations": 0}
    return cpu_seconds(
        lambda: us.simulate(simulator, make(0, **idle), 0, epochs * EPOCH, compiled=compiled), 3
    ) / (epochs * EPOCH)  # fmt: skip


def epoch_time(simulator, make, runs, compiled=None, epochs=4):
    """CPU-seconds a run for an epoch, updates and all; each run by itself if compiled is said, stacked if not."""
    return cpu_seconds(
        lambda: us.experiment(
            simulator, make, runs=runs, max_steps=epochs * EPOCH, backend="serial", compiled=compiled, progress=False
        ),
        2,
    ) / (runs * epochs)  # fmt: skip


def measure(quick):
    try:
        us.learners.PPO  # noqa: B018 (to see whether torch is there)
    except ModuleNotFoundError as error:
        print(f"PPO is left out: {error}")
        return
    simulator, make = world(300_000 if quick else 1_000_000)
    us.simulate(simulator, make(0), 0, 100)  # compile
    ahead, stepping = acting_time(simulator, make, None, 8), acting_time(simulator, make, False, 1)
    yield "PPO, acting with look-ahead", ahead * 1e6, "us a step", None, False
    yield "  step by step", stepping * 1e6, "us a step", None, False
    yield "  ratio", stepping / ahead, "times", 15, True
    stacked, single, plain = (
        epoch_time(simulator, make, runs, compiled)
        for runs, compiled in ((BLOCK, None), (BLOCK, True), (1, False))
    )  # fmt: skip
    yield "PPO, an epoch of 5,000 steps, ten runs stacked", stacked, "CPU s a run", 0.3, False
    yield "  the same runs with look-ahead, each alone", single, "CPU s a run", None, False
    yield "  one run step by step", plain, "CPU s", None, False
    yield "  stacked, against step by step", plain / stacked, "times", 3, True
    yield "  stacked, against one with look-ahead", single / stacked, "times", 1, True
