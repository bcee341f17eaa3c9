"""A thousand PPO learners, and the training of encoders, on an accelerator: `python -m benchmarks.accelerator`.

Parts may be named after it: agreement, stacks, thousand, encoders. The log of `thousand` is one that runs of 250,000
steps do not exhaust: two million rows of a logger that goes up and right more often than not, as a uniform one hardly
ever finishes an episode.
"""

import sys
import time

import numpy as np
import torch

import understudy as us
from benchmarks import encoders
from understudy.contracts import Steps
from understudy.learners.ppo import PPO
from understudy.logs import Spec

SPEC = Spec(5, None, (2,), np.dtype(float), None)
SIZES = (10, 32, 64, 128, 250, 1000)
LOGGER = (0.1, 0.3, 0.3, 0.15, 0.15)  # stay, up, right, down, left


def device_of_choice():
    return "cuda" if torch.cuda.is_available() else "cpu"


def due(n_runs, device, **settings):
    """Learners that are due for an update, each after an epoch of 5,000 steps of its own."""
    learners = []
    for seed in range(n_runs):
        learner, rng = PPO(SPEC, seed=seed, device=device, **settings), np.random.default_rng(seed)
        x, action = rng.random((learner.epoch_steps + 1, 2)), rng.integers(5, size=learner.epoch_steps)
        over = rng.random(learner.epoch_steps) < 0.01
        learner.collect(Steps(x[:-1], action, 1.0 * (action == 1), x[1:], over, np.zeros_like(over)))
        learners.append(learner)
    return learners


def seconds_of(call):
    begun = time.perf_counter()
    call()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter() - begun


def update_time(n_runs, device, repeats=2, **settings):
    """Seconds, by the clock, of the quickest of some updates of all 80 + 80 iterations."""
    times = []
    for _ in range(repeats + 1):  # the first one warms up
        learners = due(n_runs, device, target_kl=1e9, **settings)
        times.append(seconds_of(lambda learners=learners: PPO.update_all(learners)))
    return min(times[1:])


def weights(learner):
    return torch.cat([learner._policy.weight[0], learner._value.weight[0]]).numpy()


def agreement(n_runs=20):
    """Print the largest difference of a weight after an update: alone, in a full stack, in other stacks, on the CPU."""
    kinds = {f"cuda, stacks of {size}": {"device": "cuda", "stack_size": size} for size in (10, 64, 256)}
    if not torch.cuda.is_available():
        kinds = {}
    found = {}
    for kind, options in {"cpu": {"device": "cpu"}, **kinds}.items():
        found[kind] = due(n_runs, **options)
        PPO.update_all(found[kind])
        alone, again = due(n_runs, **options), due(n_runs, **options)
        for learner in alone[:5]:
            learner.update()
        PPO.update_all(again)
        one, two = (max(np.abs(weights(a) - weights(b)).max() for a, b in zip(found[kind], others, strict=False))
                    for others in (alone[:5], again))  # fmt: skip
        cpu = max(np.abs(weights(a) - weights(b)).max() for a, b in zip(found[kind], found["cpu"], strict=True))
        print(f"{kind:<22} alone or stacked {one:.1e}, again {two:.1e}, from the CPU {cpu:.1e}")


def stacks():
    """Print how long an update of stacks of different sizes takes."""
    print(f"10 learners updated on one core of the CPU in {update_time(10, 'cpu'):.3f} s")
    for size in SIZES:
        seconds = update_time(size, device_of_choice(), stack_size=size)
        print(f"a stack of {size:>5} updated in {seconds:>7.3f} s: {1000 * seconds / size:>7.3f} s for 1,000 learners")


def world(n_rows):
    """PSRS on a log of the continuous grid, with its true cells for states."""
    env = us.envs.ContinuousGrid()
    log = us.Log.from_columns(**env.rollout_cells(np.tile(LOGGER, (25, 1)), steps=n_rows, seed=1))
    return log, us.psrs(log, us.encoders.Function(env.latent))


def thousand(runs=1000, epochs=50, n_rows=2_000_000, **settings):
    """Print how long an experiment of a thousand learners takes, making log and index included."""
    found = {}

    def make_world():
        found["log"], found["simulator"] = world(n_rows)

    def make_runs():
        found["runs"] = us.experiment(
            found["simulator"],
            lambda seed: PPO(found["log"].spec, seed=seed, device=device_of_choice(), **settings),
            runs=runs,
            max_steps=5000 * epochs,
            probes={"return": us.probes.episode_returns},
            every=5000,
            progress=False,
        )

    before, after = seconds_of(make_world), seconds_of(make_runs)
    result = found["runs"]
    earned = np.mean([run.returns[-50:].mean() for run in result])
    print(f"{runs} learners, {epochs} epochs {settings}: log and index {before:.1f} s, runs {after:.1f} s; {result}")
    print(f"mean return of the last 50 episodes of a run: {earned:.3f}")
    return result


def train_encoders():
    log, cell = encoders.grid_log(1_000_000)
    for device in sorted({"cpu", device_of_choice()}):
        epoch = encoders.homer_epoch(log, device, seconds_of)
        encoder = us.encoders.Forward(0, device=device)
        seconds = seconds_of(lambda encoder=encoder: encoder.fit(log))
        if device != "cpu":  # the first one loads libraries
            seconds = seconds_of(lambda encoder=encoder: encoder.fit(log))
        found, right = encoders.score(encoder, log, cell)
        print(f"Homer on {device:<5} {epoch:>8.3f} s an epoch of 500,000 rows")
        print(f"Forward on {device:<5} {seconds:>6.1f} s, {found} of 24 states, {right:.4f} of the rows right")


PARTS = {"agreement": agreement, "stacks": stacks, "thousand": thousand, "encoders": train_encoders}


def main(names):
    name = torch.cuda.get_device_name() if torch.cuda.is_available() else "no CUDA here"
    print(f"torch {torch.__version__}, {name}, {torch.get_num_threads()} threads")
    for part in names or PARTS:
        print(f"\n{part}", flush=True)
        PARTS[part]()


if __name__ == "__main__":
    main(sys.argv[1:])
