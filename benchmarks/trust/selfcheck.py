"""How often the self-check fires, on logs with true states and on logs that must not be believed."""

from dataclasses import replace
from typing import Any

import numpy as np

import understudy as us

LOGS = 200
SIZES = (200, 1000)  # episodes of a log
BLOCKS = 20  # parts of a log in which the environment, or the logger, is a little further on
TRUE, WRONG = "true", "wrong"

PROTOCOL = f"""
**What is measured.** The share of logs in which `us.selfcheck(log, encoder)` fires, at its level of .05, and the share
in which each of its tests does. Logs are of the 5x5 grid, recorded with the uniform policy unless said; they have 200
or 1,000 episodes, and each case has {LOGS} logs of each size.

*True states* (it must not fire): the grid, and with slip .2, each observation a state; slip .2 and four noise bits,
the true cell as the state; slip .2 with episodes cut off after 50 steps; slip .2 with a logger that changes, in
{BLOCKS} parts of the log, from the uniform policy to one that goes up or right in about nine steps of ten.

*Wrong* (it must fire): one state of two cells, drawn for each log among all cells but the goal, with slip .2, without
noise and with four noise bits; one state of four cells, with slip .2; every cell in one state; two cells merged in
the *observations* themselves, with slip .2, so that no encoder is to be blamed; slip that grows from 0 to .3 over the
log; a reward at the goal that falls from 1 to .5 over the log, with slip .2.

**Success.** True states: it fires in at most 5% of logs, or not significantly more often (in at most 16 of {LOGS},
which a rate of 5% exceeds with probability .02). Wrong: it fires in at least 90% of the logs of each case.

Logs from number 1,000,000 on were used while the method was written; the rates are of logs 0 to {LOGS - 1}. Before any
of these was measured, the list of cases, 18 at first, was shortened to save time: merges without slip, noise bits
without slip, four merged cells with noise bits, and four merged observations were left out. After 30 logs of each
case had been looked at (true states 1.7% in all, wrong ones 100%), a first look with few permutations was added to
save time, and all logs were measured again.
"""

TRUE_CASES: dict[str, dict[str, Any]] = {
    "grid": {},
    "slip": {"slip": 0.2},
    "noise bits": {"slip": 0.2, "bits": 4},
    "cut at 50 steps": {"slip": 0.2, "limit": 50},
    "logger changes": {"slip": 0.2, "logger": "changes"},
}
WRONG_CASES: dict[str, dict[str, Any]] = {
    "two cells merged": {"slip": 0.2, "merged": 2},
    "two cells merged, noise bits": {"slip": 0.2, "bits": 4, "merged": 2},
    "four cells merged": {"slip": 0.2, "merged": 4},
    "one state": {"slip": 0.2, "merged": 25},
    "two observations merged": {"slip": 0.2, "merged": 2, "observed": True},
    "slip grows": {"drift": "slip"},
    "reward falls": {"slip": 0.2, "drift": "reward"},
}


def cases() -> dict[str, Any]:
    """Return the settings of each case by its name."""
    kinds = ((TRUE, TRUE_CASES), (WRONG, WRONG_CASES))
    return {
        f"{kind}: {name}, {size:,} episodes": {**settings, "episodes": size, "kind": kind}
        for kind, listed in kinds
        for name, settings in listed.items()
        for size in SIZES
    }


def measure(case: dict[str, Any], number: int) -> dict[str, Any]:
    """Return which tests fire on one log of a case, and their p-values."""
    log, encoder = example(case, number)
    found = us.selfcheck(log, encoder)
    p_values = {test.name: test.p_value for test in found.tests}
    return {"fires": found.fires, "tests": [test.name for test in found.tests if test.fires], "p_values": p_values}


def example(case: dict[str, Any], number: int) -> tuple[us.Log, us.Encoder | None]:
    """Return one log of a case, and the encoder to check it with."""
    drift, bits = case.get("drift"), case.get("bits", 0)
    parts = []
    for block in range(BLOCKS if drift or "logger" in case else 1):
        done = block / (BLOCKS - 1)
        slip = 0.3 * done if drift == "slip" else case.get("slip", 0.0)
        env = us.envs.NoisyGrid(bits, slip=slip, max_episode_steps=case.get("limit"))
        goal_seeking = np.array([0.02, 0.43, 0.43, 0.06, 0.06]) * done + 0.2 * (1 - done)
        policy = (lambda _, chances=goal_seeking: chances) if "logger" in case else None
        episodes = case["episodes"] // (BLOCKS if drift or "logger" in case else 1)
        part = us.record(env, policy, episodes=episodes, seed=BLOCKS * number + block)
        if drift == "reward":
            part = replace(part, reward=np.where(part.terminated, 1 - 0.5 * done, part.reward))
        parts.append(part)
    log = us.concatenate(parts) if len(parts) > 1 else parts[0]
    merged = np.random.default_rng([number, 1]).permutation(24)[: case.get("merged", 0)]

    def cells(observations: np.ndarray) -> np.ndarray:
        cell = np.asarray(observations) % 25
        return np.where(np.isin(cell, merged), 25, cell)

    if case.get("observed"):
        return replace(log, observation=cells(log.observation), next_observation=cells(log.next_observation)), None
    return log, us.encoders.Function(cells) if len(merged) or bits else None


def table(results: dict[str, list[dict[str, Any]]]) -> str:
    """Return the share of logs in which it fired, and in which each test did."""
    lines = ["| case | logs | fires | shapes | sufficiency | drift | |", "|---|---|---|---|---|---|---|"]
    for case, found in results.items():
        fired = sum(one["fires"] for one in found)
        shares = [
            f"{sum(name in one['tests'] for one in found) / len(found):.1%}"
            if found[0]["p_values"][name] is not None else "-"
            for name in ("shapes", "sufficiency", "drift")
        ]  # fmt: skip
        good = fired <= 0.08 * len(found) if case.startswith(TRUE) else fired >= 0.9 * len(found)
        mark = "" if good else "**missed**"
        lines.append(f"| {case} | {len(found)} | {fired / len(found):.1%} | {' | '.join(shares)} | {mark} |")
    return "\n".join(lines)
