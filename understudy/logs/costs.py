"""Columns of costs: less is better there, and learners make rewards as large as they can."""

import re

import numpy as np

from understudy.mapped import blocks, new_array

COST_WORDS = {
    "cost", "costs", "loss", "losses", "regret", "penalty", "penalties", "latency", "waste", "error", "errors",
    "damage", "expense", "expenses",
}  # fmt: skip
TAKEN_FOR_COST = "reward-is-cost"
"""The rule of the note that a reward may be a cost; audits take it for a warning."""


def negated(costs: np.ndarray) -> np.ndarray:
    """Return rewards: costs with their signs changed.

    >>> negated(np.array([2.0, 0.0]))
    array([-2.,  0.])
    """
    rewards = new_array(len(costs), np.float64)
    for rows in blocks(len(costs)):
        rewards[rows] = 0.0 - costs[rows]
    return rewards


def notes_on_reward(name: str, rewards: np.ndarray, is_cost: bool) -> list[str]:
    """Return what is to be said of the column that rewards come from.

    >>> notes_on_reward("energy_cost", np.array([0.2, 0.0]), is_cost=False)[0][:50]
    'reward-is-cost: rewards are the column energy_cost'
    """
    if is_cost:
        return [f"cost: rewards are the column {name} with its sign changed, since more of a reward is better"]
    words = re.split(r"[^a-z]+", name.lower())
    if COST_WORDS.isdisjoint(words) or not len(rewards) or not float(rewards.min()) >= 0.0 or not rewards.any():
        return []
    return [
        f"{TAKEN_FOR_COST}: rewards are the column {name}, which learners make as large as they can; give cost= in "
        "place of reward= if less of it is better"
    ]
