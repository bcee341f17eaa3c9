"""Everything that is claimed of speed, measured in one run: `make bench`. Prints a table and writes JSON.

python -m benchmarks [--quick] [--json FILE]
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import understudy as us
from benchmarks import bandit_speed, encoders, ppo
from benchmarks.plain import PlainQLearning, plain_psrs
from understudy.runs.backends import n_cores

EPSILON, ALPHA, GAMMA = 0.9, 0.5, 0.95
ROWS_AN_EPISODE = 134.6  # of the 5x5 grid under the uniform policy


def make(seed):
    return us.learners.QLearning(400, 5, epsilon=EPSILON, alpha=ALPHA, gamma=GAMMA, seed=seed)


def recorded(n_rows):
    env = us.envs.NoisyGrid(4)
    return env, us.record(env, episodes=round(n_rows / ROWS_AN_EPISODE), seed=1)


def best_rate(simulator, repeats):
    """Accepted steps a second of the fastest of some runs, each from start to the end of the log."""
    us.simulate(simulator, make(0), 0)
    rates = []
    for seed in range(1, repeats + 1):
        learner, begun = make(seed), time.perf_counter()
        run = us.simulate(simulator, learner, seed)
        rates.append(len(run) / (time.perf_counter() - begun))
    return max(rates)


def plain_rate(log, latent, order, repeats=3):
    """The same of the plain implementation."""
    states, next_states = latent(log.observation), latent(log.next_observation)
    rates = []
    for seed in range(repeats):
        rng = np.random.default_rng(seed)
        learner = PlainQLearning(400, 5, EPSILON, ALPHA, GAMMA, rng)
        begun = time.perf_counter()
        served = plain_psrs(log, states, next_states, learner, rng, order)
        rates.append(len(served) / (time.perf_counter() - begun))
    return max(rates)


def rate_of_workers(simulator, workers, runs):
    begun = time.perf_counter()
    results = us.experiment(simulator, make, runs=runs, workers=workers, backend="threads")
    return results.lengths.sum() / (time.perf_counter() - begun)


def starting_time(simulator, steps=100, repeats=200):
    """Seconds to start a run and take its first steps, the workspace being there."""
    times = []
    for seed in range(repeats):
        begun = time.perf_counter()
        us.simulate(simulator, us.learners.Uniform(5), seed, steps)
        times.append(time.perf_counter() - begun)
    return float(np.median(times))


def stepping_time(simulator, steps=40_000):
    """Seconds for `rehearsal.step(policy)` from Python."""
    policy, rates = np.full(5, 0.2), []
    for seed in range(5):
        rehearsal = simulator.start(seed)
        rehearsal.begin()
        begun, n = time.perf_counter(), 0
        while n < steps:
            step = rehearsal.step(policy)
            n += 1
            if step.terminated or step.truncated:
                rehearsal.begin()
        rates.append((time.perf_counter() - begun) / steps)
    return min(rates)


def index_cost(log, encoder):
    """Seconds a row to index a log, and the bytes a row that a simulator and each of its workers hold.

    The encoder is a table, so that its own cost is small. The rows of a run, 4 bytes a step, are the run's.
    """
    states = us.encoders.Function(lambda observations: table[observations])
    table = encoder(np.arange(400)).astype(np.int32)
    times = []
    for _ in range(5):
        fresh = us.Log(**{name: getattr(log, name) for name in log.__dataclass_fields__})
        begun = time.perf_counter()
        simulator = us.psrs(fresh, states)
        times.append(time.perf_counter() - begun)
    index = simulator.index
    held = [index.state, index.records, index.opening, index.inverse_propensity, simulator._episodes, simulator._end]
    working = simulator._workspace()
    return min(times) / len(log), *(sum(array.nbytes for array in arrays) / len(log) for arrays in (held, working))


def in_new_process(code):
    """The number that some code prints in a new interpreter; the best of three."""
    answers = []
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        answers.append(float(done.stdout.strip().splitlines()[-1]))
    return min(answers)


IMPORTING = """
import time; begun = time.perf_counter()
import understudy as us
us.experiment, us.psrs, us.learners, us.encoders, us.fidelity
print(time.perf_counter() - begun)
"""
FIRST_CALL = """
import understudy as us, time
env = us.envs.NoisyGrid(4); log = us.record(env, episodes=50, seed=0)
learner = us.learners.QLearning(400, 5)
us.experiment
begun = time.perf_counter()
us.simulate(us.psrs(log, us.encoders.Function(env.latent)), learner, 0)
print(time.perf_counter() - begun)
"""


def measure(quick):
    """Each measurement as (name, value, unit, target, whether larger is better)."""
    env, log = recorded(135_000)
    latent = us.encoders.Function(env.latent)
    simulator = us.psrs(log, latent)
    rate, shuffled = best_rate(simulator, 100), best_rate(us.psrs(log, latent, order="rows"), 50)
    plain, plain_shuffled = plain_rate(log, env.latent, "episodes"), plain_rate(log, env.latent, "rows")
    yield "PSRS, Q-learning, latent, 135k rows", rate / 1e6, "M steps/s", 18, True
    yield "  the same in plain lists", plain / 1e6, "M steps/s", None, True
    yield "  ratio", rate / plain, "times", 500, True
    yield "  row shuffle", shuffled / 1e6, "M steps/s", None, True
    yield "  with a reserve", best_rate(us.psrs(log, latent, reserve=True), 50) / rate, "of PSRS", None, True
    alike = {"likeness": us.likeness.observations(scale=1), "radius": 1.5, "audit": False}
    ladder, exact = us.qbe(log, latent, then=("like", "cut"), **alike), us.qbe(log, latent, stop="plain")
    yield "  QBE with a ladder", best_rate(ladder, 50) / best_rate(exact, 50), "of QBE", 0.2, True
    yield "  row shuffle in plain lists", plain_shuffled / 1e6, "M steps/s", None, True
    yield "  row shuffle, ratio", shuffled / plain_shuffled, "times", None, True
    yield "rehearsal.step(policy) from Python", stepping_time(simulator) * 1e6, "us", 3, False
    rates = [[rate_of_workers(simulator, workers, 200) for workers in (1, 2)] for _ in range(5)]
    one, two = np.max(rates, axis=0)
    yield "two threads against one, 200 runs", two / one, "times", 1.7, True
    yield "starting a run, 100 steps, 135k rows", starting_time(simulator) * 1e6, "us", None, False
    for n_rows, target in ((1_000_000, 14), (10_000_000, 10))[: 1 if quick else 2]:
        del simulator, log
        env, log = recorded(n_rows)
        simulator = us.psrs(log, latent)
        name = f"{n_rows:.0e} rows".replace("e+0", "e")
        yield (
            f"PSRS, Q-learning, latent, {name}",
            best_rate(simulator, 20 if n_rows < 2_000_000 else 8) / 1e6,
            "M steps/s",
            target,
            True,
        )
        yield f"  row shuffle, {name}", best_rate(us.psrs(log, latent, order="rows"), 3) / 1e6, "M steps/s", None, True
        yield f"starting a run, 100 steps, {name}", starting_time(simulator) * 1e6, "us", None, False
        seconds, held, working = index_cost(log, env.latent)
        yield f"index, {name}: time", seconds * 1e6, "us a row", 0.2, False
        yield f"index, {name}: memory beyond the columns", held, "bytes a row", 48, False
        yield f"index, {name}: memory of each worker", working, "bytes a row", 36, False
    del simulator, log
    yield from bandit_speed.measure(quick)
    yield from ppo.measure(quick)
    yield from encoders.measure(quick)
    yield "importing understudy and its rooms", in_new_process(IMPORTING), "s", 1, False
    in_new_process(FIRST_CALL)
    yield "first compiled call, warm cache", in_new_process(FIRST_CALL), "s", 1, False


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="leave out the log of ten million rows")
    parser.add_argument("--markdown", metavar="FILE", help="a page whose table is to be replaced by this one")
    parser.add_argument("--json", default=Path(__file__).with_name("results.json"), metavar="FILE")
    options = parser.parse_args()
    print(
        f"{platform.machine()}, {n_cores()} cores, Python {platform.python_version()}, load {os.getloadavg()[0]:.1f}\n"
    )
    print(f"{'':<52}{'measured':>12}  {'target':>8}")
    results = []
    for name, value, unit, target, larger in measure(options.quick):
        met = "" if target is None else "  met" if (value >= target if larger else value <= target) else "  MISSED"
        print(f"{name:<52}{value:>12.4g}  {target if target is not None else '':>8} {unit}{met}", flush=True)
        results.append(
            {"name": name.strip(), "value": value, "unit": unit, "target": target, "met": met.strip() != "MISSED"}
        )
    Path(options.json).write_text(json.dumps(results, indent=1))
    print(f"\nwritten to {options.json}")
    if options.markdown:
        page = Path(options.markdown)
        before, _, after = page.read_text().split(MARK)
        page.write_text(MARK.join([before, as_markdown(results), after]))


MARK = "<!-- make bench -->"


def as_markdown(results):
    rows = ["", "| | measured | target | |", "|---|---:|---:|---|"]
    for result in results:
        target = "" if result["target"] is None else f"{result['target']:g}"
        rows.append(f"| {result['name']} | {result['value']:.3g} | {target} | {result['unit']} |")
    return "\n".join([*rows, ""])


if __name__ == "__main__":
    main()
