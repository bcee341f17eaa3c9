"""The check of policies that learners and functions return: as arrays, or a `PolicyError`."""

from typing import Any

import numpy as np

from understudy.errors import PolicyError

FLOAT = np.dtype(np.float64)
TOLERANCE = 1e-5
"""How far a policy's sum may be from 1."""

LONGEST = 200
"""The most characters of a policy or an observation that a message shows."""


def as_vector(policy: Any, n_actions: int, observation: Any) -> np.ndarray:
    """Return a policy as a float64 vector, (n_actions,), that compiled code can read.

    Arrays, lists and tensors are accepted, also tensors that require grad. Raise `PolicyError` for anything else. The
    probabilities are not checked here, but by `fault_of`; `observation` is for the message.
    """
    if type(policy) is np.ndarray and policy.dtype is FLOAT and policy.flags.carray and policy.shape == (n_actions,):
        return policy
    try:
        vector = numbers_of(policy)
    except PolicyError as error:
        raise refusal(policy, observation, str(error)) from None
    if vector.shape != (n_actions,):
        raise refusal(policy, observation, fault_of(vector, n_actions))
    return vector


def as_policy(policy: Any, n_actions: int, observation: Any) -> np.ndarray:
    """Return a policy as a float64 vector, (n_actions,). Raise `PolicyError` unless it is a distribution.

    >>> as_policy([0, 1], 2, observation=7)
    array([0., 1.])
    """
    vector = as_vector(policy, n_actions, observation)
    fault = fault_of(vector, n_actions)
    if fault:
        raise refusal(policy, observation, fault)
    return vector


def as_policies(policies: Any, n_actions: int, observations: Any) -> np.ndarray:
    """Return policies, one an observation, as (n, n_actions). Raise `PolicyError` unless each is a distribution."""
    shape = (len(observations), n_actions)
    try:
        table = numbers_of(policies)
    except PolicyError as error:
        raise PolicyError(f"what the learner's policies returned {error}") from None
    if table.shape != shape:
        raise PolicyError(
            f"the learner's policies has shape {table.shape}, and there are {shape[0]} observations and {n_actions} "
            "actions; return one row for each observation"
        )
    row = first_fault(table)
    if row is not None:
        raise refusal(table[row], observations[row], fault_of(table[row], n_actions))
    return table


def first_fault(table: np.ndarray) -> int | None:
    """Return the first row of a table of policies that is not a distribution; None if all are.

    >>> first_fault(np.array([[0.5, 0.5], [0.5, 0.6]]))
    1
    """
    fine = (table >= 0).all(axis=1) & (np.abs(table.sum(axis=1) - 1.0) <= TOLERANCE)
    return None if fine.all() else int(fine.argmin())


def numbers_of(policy: Any) -> np.ndarray:
    """Return a policy, or several, as a new float64 array of any shape.

    Raise `PolicyError` for what does not hold numbers; the message is the end of a sentence.

    >>> numbers_of(["0.5", "0.5"])
    Traceback (most recent call last):
    understudy.errors.PolicyError: holds <U3, not real numbers; return one probability for each action
    """
    try:
        parts = [_without_grad(part) for part in policy] if isinstance(policy, list | tuple) else _without_grad(policy)
        array = np.asarray(parts)
    except Exception:  # objects of others may raise anything while an array is made of them
        array = np.array(None)
    if array.ndim == 0 and array.dtype.kind not in "biuf":
        raise PolicyError("is not a vector of numbers; return one probability for each action")
    if isinstance(policy, np.ma.MaskedArray) and np.ma.getmaskarray(policy).any():
        raise PolicyError("has masked entries; fill them, or return an array without a mask")
    if array.dtype.kind not in "biuf":
        raise PolicyError(f"holds {array.dtype}, not real numbers; return one probability for each action")
    return np.array(array, dtype=FLOAT, order="C", subok=False)


def _without_grad(part: Any) -> Any:
    """Return the values of a tensor, on any device and with or without grad; anything else as it is."""
    if not hasattr(part, "detach"):  # torch's own method, so that torch need not be imported
        return part
    values = part.detach().cpu()
    return (values.double() if values.is_floating_point() else values).numpy()


def fault_of(policy: np.ndarray, n_actions: int) -> str | None:
    """Return why a vector is not a policy, as the end of a sentence; None if it is one.

    >>> fault_of(np.array([0.5, 0.6]), 2)
    'sums to 1.1, not 1; divide it by its sum'
    """
    if policy.shape == (n_actions,) and policy.min() >= 0 and abs(policy.sum() - 1.0) <= TOLERANCE:
        return None
    if policy.shape != (n_actions,):
        return f"has shape {policy.shape}, and there are {n_actions} actions; return one probability for each"
    if not np.isfinite(policy).all():
        return "has a NaN or an infinity; look at what the learner computes it from"
    if (policy < 0).any():
        return "has a negative entry; probabilities are from 0 to 1"
    return f"sums to {policy.sum():.6g}, not 1; divide it by its sum"


def refusal(policy: Any, observation: Any, fault: str | None) -> PolicyError:
    """Return the error that names a policy, the observation it was returned for, and its fault."""
    return PolicyError(f"the policy {_shown(policy)} at observation {_shown(observation)} {fault}")


def _shown(thing: Any) -> str:
    text = " ".join(str(thing).split())
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
