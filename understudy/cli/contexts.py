"""What bandit learners with a table see of observations that are not codes: a row for each distinct one, or nothing."""

import argparse
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import understudy as us
from understudy.cli.values import BANDITS, LINEAR
from understudy.contracts.vocabulary import Vocabulary
from understudy.errors import visible
from understudy.logs.findings import errors_first
from understudy.logs.labels import listing

ROWS_EACH = 10
"""Logged rows for each action that a distinct observation must have on average, to get a row of a table: with fewer,
most rows of the table would hold means of a handful of rewards, since replay accepts a part of the logged ones only."""

RULE = "blind-learner"


def has_codes(log: us.Log) -> bool:
    """True if observations are codes: single integers from 0 up, and not numbers such as ids."""
    n_codes = log.spec.n_observations
    return n_codes is not None and n_codes <= 4 * len(log) + 1024


def most_contexts(log: us.Log) -> int:
    """Return how many distinct observations a log may have, for a table with a row for each."""
    return max(1, len(log) // (ROWS_EACH * log.spec.n_actions))


def contexts_of(log: us.Log) -> Any:
    """Return an encoder with a state for each distinct observation; None where there are more than `most_contexts`."""
    most = most_contexts(log)
    if len(Vocabulary(log.observation[: 4 * most + 1])) > most:  # a few rows tell of most logs that there are too many
        return None
    encoder = us.encoders.Identity().fit(log)
    return encoder if encoder.n_states is not None and encoder.n_states <= most else None


def table_rows(log: us.Log, encoder: Any) -> tuple[int | None, Any]:
    """Return how many rows a bandit learner's table has, and the encoder that says which; None rows: one for all."""
    coding = log.spec.coding
    if encoder is None and not has_codes(log):
        single = coding is not None and coding.form != "codes" and len(coding.columns) == 1
        encoder = us.encoders.Identity().fit(log) if single else contexts_of(log)  # single: one label, as 0 and 1
        return (None, None) if encoder is None else (encoder.n_states, encoder)
    return (log.spec.n_observations if encoder is None else encoder.n_states), encoder


def blind_words(log: us.Log, options: argparse.Namespace) -> str:
    """Return that the learner does not look at observations, for the title of a page; empty where it does."""
    is_blind = _has_plain_table(options) and table_rows(log, None)[0] is None
    return ", which does not look at what is observed," if is_blind else ""


def with_contexts(
    audit: us.Audit, log: us.Log, learners: Iterable[argparse.Namespace], tell: Callable[[str], None]
) -> us.Audit:
    """Return an audit that warns, too, of learners that do not look at the observations; what others see is told."""
    names = dict.fromkeys(options.learner for options in learners if _has_plain_table(options))
    if has_codes(log) or not names:
        return audit
    n_rows, _ = table_rows(log, None)
    observed = log.spec.features if log.spec.coding is None else log.spec.coding.names
    columns = f" ({visible(listing(observed))})" if observed else ""
    for name in names:
        if n_rows is not None:
            tell(f"{name}: its table has a row for each of {n_rows:,} distinct observations{columns}")
            continue
        finding = us.Finding("warning", RULE, (), len(log), blind_sentence(log, name, columns))
        tell(str(finding))
        audit = replace(audit, findings=errors_first([*audit.findings, finding]))
    return audit


def _has_plain_table(options: argparse.Namespace) -> bool:
    return options.learner in BANDITS and options.learner not in LINEAR and options.encoder == "identity"


def blind_sentence(log: us.Log, learner: str, columns: str) -> str:
    """Return that a learner does not look at observations, why, and what to do."""
    return (
        f"{learner} does not look at what is observed{columns}, and chooses alike for all: a table with a row for each "
        f"distinct one needs {ROWS_EACH} logged rows for each action there, so these {len(log):,} rows allow "
        f"{most_contexts(log):,} distinct ones, and there are more; name fewer columns with "
        "--observation, merge them into states with --encoder boxes, or choose linucb or linear-thompson"
    )
