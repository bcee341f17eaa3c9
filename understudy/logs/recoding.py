"""Observations that are coded already, in the coding of another log, or in another form."""

from dataclasses import replace
from typing import Any

import numpy as np

from understudy.errors import SettingError
from understudy.logs.coded_observations import ROLES, CodingRules
from understudy.logs.coding import FORMS, Coding
from understudy.logs.log import Log
from understudy.logs.spec import Spec


def spec_of(like: Any) -> Spec:
    """Return the spec of a log, or a spec as it is. Raise `SettingError` for anything else."""
    if isinstance(like, Log):
        return like.spec
    if not isinstance(like, Spec):
        raise SettingError(f"like= is a {type(like).__name__}; give a log, or its spec")
    return like


def recoded(numbers: dict[str, np.ndarray], coding: Coding, rules: CodingRules) -> tuple[dict[str, np.ndarray], Coding]:
    """Return observations of a coding in that of `rules.like`, where there is one, and the coding they are in."""
    if rules.like is None:
        return numbers, coding if rules.unseen is None else replace(coding, unseen=rules.unseen)
    target = replace(rules.like, unseen=rules.unseen or rules.like.unseen)
    return {role: target.encode(coding.decode(array)) for role, array in numbers.items()}, target


def in_form(log: Log, form: str | None) -> Log:
    """Return the log with its observations in a form; with None, or where no column is coded, as they are."""
    if form not in (None, *FORMS):
        raise SettingError(f"coding={form!r} is unknown; give one of {', '.join(FORMS)}")
    coding = log.spec.coding
    if form is None or coding is None or form == coding.form:
        return log
    target = replace(coding, form=form)
    columns: dict[str, Any] = {
        role: coding.one_hot(log.columns[role])
        if form == "one-hot"
        else target.encode(coding.decode(log.columns[role]), unseen="other")
        for role in ROLES
    }
    spec = replace(
        log.spec,
        observation_shape=columns["observation"].shape[1:],
        observation_dtype=columns["observation"].dtype,
        n_observations=target.n_observations,
        features=target.features,
        coding=target,
    )
    return replace(log, **columns, spec=spec)
