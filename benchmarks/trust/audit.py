"""How often the audit of a log raises a false alarm, and how often it finds what is wrong."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

import understudy as us

LOGS = 400
DEVELOPMENT = 1_000_000
FEWER = 100  # logs of each case that is wrong: rates near 1 need fewer

PROTOCOL = """
**Audit** (`us.check`, `understudy check`). *Clean* logs have right propensities, no copies, and a world that stays as
it is: 400 logs of each case. *Wrong* logs have one fault each: 100 logs of each case. Grids are 5x5, and episodes end
at the goal only. "Factor 1.5": the logged propensity of one action is 1.5 times the one it was drawn with, and the
others are scaled to sum to 1, in all states or in the middle cell only; the skewed logger takes stay, up, right,
down, left with .05, .3, .35, .15, .15. Success, stated before the logs were looked at:

- false alarms (any test, in any clean log) in at most 1 log of 1,000, that is in at most 8 of these 3,600; an adaptive
  logger that is honest may be called one (propensity-trend, reward-drift, visit-drift are right about it);
- every test's corrected p-value is below .05 in at most 5% of clean logs of a case, up to three standard errors
  (8.3%);
- factor 1.5 in all states, 1,000 episodes: found, and the log not believable, in at least 90% of logs for each logger.
  All other rates of detection are stated, whatever they are.
"""

SKEWED = np.array([0.05, 0.3, 0.35, 0.15, 0.15])
UNIFORM = np.full(5, 0.2)
MIDDLE = 12


def cases() -> dict[str, Any]:
    clean = {
        "grid": (grid, {}),
        "slip grid, skewed logger": (grid, {"slip": 0.2, "policy": SKEWED}),
        "noisy grid": (noisy_grid, {}),
        "slip grid, chosen propensities only": (grid, {"slip": 0.2, "policy": SKEWED, "kept": "chosen"}),
        "observations that never repeat": (numbers, {}),
        "one-step episodes": (one_step, {}),
        "adaptive logger, honest": (adaptive, {}),
        "rewards that depend within episodes": (ring, {"kinds_pay": True}),
        "one endless episode": (ring, {"episodes": 1, "length": 5000}),
    }
    wrong: dict[str, Any] = {}
    for logger, policy, action in (("uniform", UNIFORM, 1), ("skewed", SKEWED, 1), ("skewed, rare action", SKEWED, 0)):
        for episodes in (1000, 200):
            for where, cell in (("all states", None), ("one state", MIDDLE)):
                wrong[f"factor 1.5, {logger}, {episodes:,} episodes, {where}"] = (
                    misstated, {"policy": policy, "action": action, "episodes": episodes, "cell": cell},
                )  # fmt: skip
    wrong |= {
        "factor 1.5, chosen propensities only": (
            misstated, {"policy": SKEWED, "action": 1, "episodes": 1000, "cell": None, "kept": "chosen"},
        ),
        "rewards .02 higher from the middle on": (drifting, {"reward": 0.02}),
        "slip .1, then .2": (drifting, {"slip": (0.1, 0.2)}),
        "another policy from the middle on, honest": (drifting, {"policies": (SKEWED, SKEWED[[0, 2, 1, 4, 3]])}),
        "1 of 5 episodes copied": (copied, {"share": 0.2}),
        "1 of 50 episodes copied": (copied, {"share": 0.02}),
        "1 of 5 copied, no propensities": (copied, {"share": 0.2, "kept": "none"}),
        "the whole log twice, no propensities": (copied, {"share": 1.0, "kept": "none"}),
        "1 of 5 one-step episodes copied": (copied, {"share": 0.2, "of": "one step"}),
        "1 of 50 decisions written twice": (written_twice, {"share": 0.02}),
        "1 of 50 decisions written twice, chosen propensities only": (written_twice, {"share": 0.02, "kept": "chosen"}),
        "every row twice": (ring, {"doubled": True}),
        "the logger knew the kind of episode": (ring, {"kinds_choose": True}),
        "the logger repeated its last action in 1 of 10 steps": (ring, {"sticky": 0.1}),
    }  # fmt: skip
    return {f"clean: {name}": (*case, LOGS) for name, case in clean.items()} | {
        f"wrong: {name}": (*case, FEWER) for name, case in wrong.items()
    }


def measure(case: tuple[Callable[..., us.Log], dict[str, Any], int], number: int) -> dict[str, Any]:
    make, settings, logs = case
    if number % DEVELOPMENT >= logs:
        return {}
    audit = us.check(make(np.random.default_rng([11, number]), **settings))
    return {"believable": audit.believable, "p": {test.rule: test.p_value for test in audit.tests}}


def table(results: dict[str, list[dict[str, Any]]]) -> str:
    clean = {name: _measured(found) for name, found in results.items() if name.startswith("clean: ")}
    wrong = {name: _measured(found) for name, found in results.items() if name.startswith("wrong: ")}
    lines: list[str] = []
    if clean:
        rules = list(next(iter(clean.values()))[0]["p"])
        lines += [
            f"| clean logs | logs | not believable | {' | '.join(rules)} |",
            f"|---|---|---|{'---|' * len(rules)}",
        ]
        for name, found in clean.items():
            cells = [_false_alarms([one["p"][rule] for one in found]) for rule in rules]
            doubted = sum(not one["believable"] for one in found)
            lines.append(f"| {name.removeprefix('clean: ')} | {len(found)} | {doubted} | {' | '.join(cells)} |")
        lines += [
            "",
            "A cell: alarms, and the share of logs whose corrected p-value is below .05. A dash: not tested.",
            "",
        ]
    if wrong:
        lines += ["| wrong logs | logs | not believable | found by |", "|---|---|---|---|"]
    for name, found in wrong.items():
        doubted = np.mean([not one["believable"] for one in found])
        fires = [{rule for rule, p in one["p"].items() if p is not None and p < 1e-4} for one in found]
        shares = {rule: np.mean([rule in fired for fired in fires]) for rule in found[0]["p"]}
        by = ", ".join(f"{rule} {share:.0%}" for rule, share in shares.items() if share) or "none"
        lines.append(f"| {name.removeprefix('wrong: ')} | {len(found)} | {doubted:.0%} | {by} |")
    return "\n".join(lines)


def _measured(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [one for one in found if one]


def _false_alarms(p_values: list[float | None]) -> str:
    known = np.array([p for p in p_values if p is not None])
    return f"{(known < 1e-4).sum()}, {(known < 0.05).mean():.1%}" if len(known) else "-"


def grid(rng, slip=0.0, policy=UNIFORM, episodes=200, kept="all") -> us.Log:
    return _keep(_recorded(us.envs.Grid(slip=slip), policy, episodes, rng), kept)


def noisy_grid(rng) -> us.Log:
    return _recorded(us.envs.NoisyGrid(4), UNIFORM, 200, rng)


def misstated(rng, policy, action, episodes, cell, kept="all") -> us.Log:
    """A slip grid whose log says that one action was 1.5 times as likely as it was."""
    log = _recorded(us.envs.Grid(slip=0.1), policy, episodes, rng)
    p = log.propensity.copy()
    rows = slice(None) if cell is None else log.observation == cell
    p[rows] *= (1 - 1.5 * policy[action]) / (1 - policy[action])
    p[rows, action] = 1.5 * policy[action]
    return _keep(replace(log, propensity=p), kept)


def drifting(rng, slip=(0.1, 0.1), reward=0.0, policies=(SKEWED, SKEWED)) -> us.Log:
    """1,000 episodes on the grid; slip, rewards or the policy change in the middle. Propensities are right."""
    parts = [_recorded(us.envs.Grid(slip=one), policy, 500, rng) for one, policy in zip(slip, policies, strict=True)]
    log = us.concatenate(parts)
    noise = rng.normal(0, 0.1, len(log)) if reward else 0.0
    return replace(log, reward=log.reward + noise + reward * (np.arange(len(log)) >= len(parts[0])))


def copied(rng, share, kept="all", of="grid") -> us.Log:
    """A log to which copies of some of its episodes were added, at places that are drawn."""
    log = one_step(rng) if of == "one step" else grid(rng, slip=0.1, policy=SKEWED, episodes=500)
    copies = rng.permutation(log.n_episodes)[: round(share * log.n_episodes)]
    return _keep(log.select(rng.permutation(np.concatenate([np.arange(log.n_episodes), copies]))), kept)


def adaptive(rng, rounds=20, episodes=20) -> us.Log:
    """A slip grid whose logger learns from its own rows between rounds, and logs what it draws from."""
    env, values, parts = us.envs.Grid(slip=0.1), np.zeros((25, 5)), []
    for _ in range(rounds):
        policy = np.exp(2 * (values - values.max(axis=1, keepdims=True)))
        policy = 0.9 * policy / policy.sum(axis=1, keepdims=True) + 0.02
        parts.append(_recorded(env, policy, episodes, rng))
        for row in range(len(parts[-1])):
            log = parts[-1]
            target = log.reward[row] + 0.95 * values[log.next_observation[row]].max() * ~log.terminated[row]
            values[log.observation[row], log.action[row]] += 0.1 * (
                target - values[log.observation[row], log.action[row]]
            )
    return us.concatenate(parts)


def numbers(rng, episodes=200, length=25) -> us.Log:
    """Episodes of numbers that never repeat; the policy depends on them, and the reward on the action."""
    x = np.empty((episodes, length + 1, 2))
    x[:, 0] = rng.normal(size=(episodes, 2))
    action, propensity = np.empty((episodes, length), int), np.empty((episodes, length, 3))
    for t in range(length):
        propensity[:, t] = _softmax(x[:, t] @ np.array([[0.8, -0.4, 0.0], [0.0, 0.5, -0.5]]))
        action[:, t] = _drawn(propensity[:, t], rng)
        x[:, t + 1] = 0.9 * x[:, t] + 0.3 * (action[:, t, None] - 1) + rng.normal(0, 0.4, (episodes, 2))
    reward = -np.square(x[:, 1:]).sum(axis=2) + rng.normal(size=(episodes, length))
    return _episodes(x[:, :-1], action, reward, x[:, 1:], propensity)


def one_step(rng, n=2000) -> us.Log:
    """A bandit's log: each row is a decision by itself."""
    context = rng.normal(size=(n, 3))
    propensity = _softmax(context @ rng.normal(size=(3, 4)) * 0.7)
    action = _drawn(propensity, rng)
    reward = (rng.random(n) < 1 / (1 + np.exp(-context[:, 0] + 0.3 * action))).astype(float)
    return us.Log.from_columns(
        observation=context, action=action, reward=reward, propensity=propensity, next_observation=context,
        ends="every-row",
    )  # fmt: skip


def written_twice(rng, share, kept="all", n=10_000, contexts=200) -> us.Log:
    """A bandit's log of few contexts, some much more frequent, in which some rows stand twice, one after the other."""
    frequent = 1 / np.arange(1, contexts + 1)
    context = rng.choice(contexts, n, p=frequent / frequent.sum())
    propensity = rng.dirichlet(np.full(4, 3.0), size=contexts)[context]
    action = _drawn(propensity, rng)
    reward = (rng.random(n) < 0.05 * (1 + action)).astype(float)
    rows = np.sort(np.append(np.arange(n), rng.choice(n, round(share * n), replace=False)))
    columns = {"observation": context, "action": action, "reward": reward, "propensity": propensity}
    return _keep(us.Log.from_columns(**{name: one[rows] for name, one in columns.items()}, ends="every-row"), kept)


def ring(rng, episodes=200, length=40, kinds_pay=False, kinds_choose=False, sticky=0.0, doubled=False) -> us.Log:
    """A walk on a ring of 12 places. Episodes are of two hidden kinds, which may pay more, or be chosen for."""
    table = rng.dirichlet(np.full(3, 3.0), size=12)
    place, last = np.empty((episodes, length + 1), int), None
    place[:, 0] = rng.integers(12, size=episodes)
    kind = rng.integers(2, size=episodes)
    action, propensity = np.empty((episodes, length), int), np.empty((episodes, length, 3))
    for t in range(length):
        propensity[:, t] = table[place[:, t]]
        lean = np.zeros((episodes, 3))
        if kinds_choose:
            lean[:, 0] = np.where(kind, 0.4, -0.4)
        truly = _softmax(np.log(propensity[:, t]) + lean)
        action[:, t] = _drawn(truly, rng)
        if sticky and last is not None:
            action[:, t] = np.where(rng.random(episodes) < sticky, last, action[:, t])
        last = action[:, t]
        place[:, t + 1] = (place[:, t] + action[:, t] - 1 + rng.integers(3, size=episodes)) % 12
    reward = rng.normal(size=(episodes, length)) + (2.0 * kind[:, None] if kinds_pay else 0.0)
    if doubled:
        columns = (np.repeat(one, 2, axis=1) for one in (place[:, :-1], action, np.round(reward), propensity))
        return _episodes(*(next(columns) for _ in range(3)), None, next(columns))
    return _episodes(place[:, :-1], action, reward, place[:, 1:], propensity)


def _episodes(observation, action, reward, following, propensity) -> us.Log:
    """A log of arrays (episodes, steps, ...)."""
    n, length = action.shape
    flat = {"observation": observation, "next_observation": following, "propensity": propensity}
    return us.Log.from_columns(
        **{name: array.reshape(n * length, *array.shape[2:]) for name, array in flat.items() if array is not None},
        action=action.ravel(), reward=reward.ravel(), episode=np.repeat(np.arange(n), length), ends="truncated",
        n_actions=propensity.shape[2],
    )  # fmt: skip


def _recorded(env, policy, episodes, rng) -> us.Log:
    table = np.broadcast_to(policy, (env.n_observations, 5))
    return us.record(env, lambda code: table[code], episodes=episodes, seed=int(rng.integers(2**31)))


def _keep(log: us.Log, kept: str) -> us.Log:
    """The log with all propensities, the chosen action's, or none."""
    if kept == "all":
        return log
    p = None if kept == "none" else np.ascontiguousarray(log.propensity[np.arange(len(log)), log.action])
    return replace(log, propensity=p)


def _softmax(scores: np.ndarray) -> np.ndarray:
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True)


def _drawn(p: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return (p.cumsum(axis=1) > rng.random((len(p), 1))).argmax(axis=1)
