"""Stacked updates of PPO, and the training of encoders, on an accelerator: `python -m benchmarks.accelerator`."""

import time

import numpy as np
import torch

import understudy as us
from benchmarks import encoders
from understudy.contracts import Steps
from understudy.learners.ppo import PPO
from understudy.logs import Spec

SPEC = Spec(5, None, (2,), np.dtype(float), None)


def due(n_runs, device, **settings):
    """Learners that are due for an update, each after an epoch of 5,000 steps of its own."""
    learners = []
    for seed in range(n_runs):
        learner, rng = PPO(SPEC, seed=seed, device=device, **settings), np.random.default_rng(seed)
        x, action = rng.random((learner.epoch_steps + 1, 2)), rng.integers(5, size=learner.epoch_steps)
        over = rng.random(learner.epoch_steps) < 0.01
        learner.note(Steps(x[:-1], action, 1.0 * (action == 1), x[1:], over, np.zeros_like(over)))
        learners.append(learner)
    return learners


def update_time(n_runs, device, repeats=3):
    """Seconds, by the clock, of the quickest of some updates of all 80 + 80 iterations."""
    times = []
    for _ in range(repeats + 1):  # the first one warms up
        learners = due(n_runs, device, target_kl=float("inf"))
        begun = time.perf_counter()
        PPO.update_all(learners)
        times.append(time.perf_counter() - begun)
    return min(times[1:])


def weights(learner):
    return torch.cat([learner._policy.weight[0], learner._value.weight[0]]).numpy()


def agreement(n_runs):
    """The largest difference of a weight after an update: in stacks of other sizes, and from the CPU."""
    alone = due(n_runs, "cuda")
    for learner in alone:
        learner.update()
    stacked, there = due(n_runs, "cuda"), due(n_runs, "cpu")
    PPO.update_all(stacked)
    PPO.update_all(there)
    return [max(np.abs(weights(one) - weights(other)).max() for one, other in zip(stacked, others, strict=True))
            for others in (alone, there)]  # fmt: skip


def seconds_of(call):
    begun = time.perf_counter()
    call()
    return time.perf_counter() - begun


def main():
    devices = ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]
    name = torch.cuda.get_device_name() if "cuda" in devices else "no CUDA here"
    print(f"torch {torch.__version__}, {name}\n")
    for n_runs in (10, 100):
        for device in devices:
            seconds = update_time(n_runs, device)
            print(f"{n_runs:>4} learners updated on {device:<5} {seconds:>8.3f} s, {seconds / n_runs:.4f} s a run")
    log, cell = encoders.grid_log(1_000_000)
    for device in devices:
        epoch = encoders.homer_epoch(log, device, seconds_of)
        encoder = us.encoders.Forward(0, device=device)
        seconds = seconds_of(lambda encoder=encoder: encoder.fit(log))
        found, right = encoders.score(encoder, log, cell)
        print(f"Homer on {device:<5} {epoch:>8.2f} s an epoch of 500,000 rows")
        print(f"Forward on {device:<5} {seconds:>6.1f} s, {found} of 24 states, {right:.4f} of the rows right")
    if "cuda" in devices:
        stack, device = agreement(10)
        print(f"\nlargest difference of a weight: {stack:.1e} alone or stacked, {device:.1e} on CUDA or CPU")


if __name__ == "__main__":
    main()
