"""What the command line chooses where nothing was said: the learner, and the numbers that linear learners see."""

import argparse

import numpy as np

import understudy as us
from understudy.cli.flags import WHOLE_EPISODES
from understudy.cli.learners import scaling_of
from understudy.cli.values import LINEAR
from understudy.cli.words import say
from understudy.errors import visible
from understudy.logs.recoding import in_form

MOST_LISTED = 6
"""Features named in a sentence."""


def with_default_learner(options: argparse.Namespace, log: us.Log) -> argparse.Namespace:
    """Return the options with a learner: the one that was named, or else one that suits the log, which is said."""
    if options.learner is not None:
        return options
    name, why = default_learner(options, log)
    if why is not None and not vars(options).get("json"):
        say(f"learner: {name}, since {why}; --learner chooses another")
    return argparse.Namespace(**vars(options) | {"learner": name})


def default_learner(options: argparse.Namespace, log: us.Log) -> tuple[str, str | None]:
    """Return the learner for a log where none was named, and why; None for the usual one."""
    is_bandit = log.n_episodes == len(log) and set(options.simulator or ()) & set(WHOLE_EPISODES)
    if not (options.bandit or is_bandit):
        return "q-learning", None
    n_codes = log.spec.n_observations
    if n_codes is None and options.encoder == "identity":
        return "linucb", "each row is a decision by itself, and observations have several columns or are not codes"
    low, high = float(log.reward.min()), float(log.reward.max())
    if low >= 0 and high <= 1:
        return (
            "thompson",
            "each row is a decision by itself, observations are codes or states, and rewards are from 0 to 1",
        )
    return (
        "epsilon-greedy",
        f"each row is a decision by itself, observations are codes or states, and rewards are from {low:g} to {high:g}",
    )


MANY_COLUMNS = 300
"""With more columns a linear learner takes some milliseconds a step."""


def for_linear_learners(log: us.Log, learners: list[str], options: argparse.Namespace) -> us.Log:
    """Return the log as linear learners need it, where one of the learners is linear; what is done for them is said.

    They would take the code of a label for an amount: each label gets a column of 0 and 1. What --coding says comes
    first. Learners that keep a table have a row for each label of a single column all the same.
    """
    linear = [name for name in learners if name in LINEAR]
    if not linear:
        return log
    labels, said = labels_in_codes(log), []
    if labels and options.coding is None:
        log = in_form(log, "one-hot")
        n = int(np.prod(log.spec.observation_shape))
        said.append(f"{labels}: a column of 0 and 1 for each label, as {linear[0]} needs them; {n:,} columns in all")
        if n > MANY_COLUMNS:
            said.append(
                f"warning: many-columns: a step of {linear[0]} takes time with the square of {n:,} columns, and "
                "a label that is rare teaches it little: leave ids out of --observation, or merge rare labels"
            )
    if log.spec.n_observations is None and not options.no_scaling and (scaling := scaling_of(log)):
        scaled = np.flatnonzero((scaling["center"] != 0) | (scaling["scale"] != 1))
        features = log.spec.features or tuple(f"feature {number}" for number in range(len(scaling["scale"])))
        names = [features[number] for number in scaled]
        listed = ", ".join(names if len(names) <= MOST_LISTED else [*names[:MOST_LISTED], "others"])
        said.append(
            f"{listed}: {linear[0]} sees them less their mean in the log, in standard deviations; --no-scaling leaves "
            "them as they are"
        )
    if not vars(options).get("json"):
        for sentence in said:
            say(visible(sentence))  # one line, whatever names of columns hold
    return log


def labels_in_codes(log: us.Log) -> str:
    """Return the columns of observations whose labels are codes, listed; empty where there are none."""
    coding = log.spec.coding
    if coding is None or coding.form != "codes":
        return ""
    return ", ".join(column.name for column in coding.columns if column.kind == "category")
