"""Propensities of all actions that users give: by a table, a mapping, a file, or a function of the observation."""

import inspect
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.errors import ContractError, LogError, PolicyError, SettingError
from understudy.logs.arrays import common_dtype
from understudy.logs.arrow_columns import to_numpy
from understudy.logs.arrow_streams import ArrowStreamable
from understudy.logs.columns import CLEAN
from understudy.logs.labels import listing, positions_of, spelled_value
from understudy.logs.loading import load
from understudy.logs.policies import fault_of, first_fault, numbers_of
from understudy.logs.propensities.recognition import rounding
from understudy.logs.recurring import keys_of

if TYPE_CHECKING:
    from understudy.logs.log import Log

FORMS = (
    "an array (n_observations, actions), a mapping from observations to vectors, a table or file with columns of the "
    "observation and one for each action, or a function of observations"
)


def given_propensities(log: "Log", given: Any) -> tuple[np.ndarray, str]:
    """Return the propensities of all actions in each row, (N, A), and the kind of their source.

    Raise `LogError` for the first row that is not in what was given, has no distribution there, or whose logged
    propensity is another.
    """
    kind = "table"
    if isinstance(given, Mapping):
        table = _from_mapping(log, given)
    elif isinstance(given, str | os.PathLike | ArrowStreamable):
        columns = () if log.spec.coding is None else log.spec.coding.columns
        texts = [column.name for column in columns if column.kind == "category"]
        table = _from_frame(log, load(given, recognize=False, progress=False, as_text=texts).table)
    elif callable(given):
        table, kind = _from_function(log, given), "function"
    else:
        table = _from_array(log, given)
    row = first_fault(table)
    if row is not None:
        fault = f"they sum to {table[row].sum():.6g}" if (table[row] >= 0).all() else "they are not all 0 or more"
        raise LogError(
            f"the propensities given for row {log.row_in_source(row)}, {_shown(table[row])}, are not a distribution "
            f"over the {log.spec.n_actions} actions: {fault}; give probabilities that sum to 1",
            "propensity-sum",
        )
    _refuse_others_than_logged(log, table)
    return table, kind


def _refuse_others_than_logged(log: "Log", table: np.ndarray) -> None:
    """Raise `LogError` for the first row in which the propensity of the chosen action is 0, or not the logged one."""
    chosen = table[np.arange(len(log)), log.action]
    if (chosen <= 0).any():
        row = int((chosen <= 0).argmax())
        raise LogError(
            f"the action taken in row {log.row_in_source(row)} has propensity 0 in what was given; are its actions in "
            "another order?",
            "propensity-zero",
        )
    if log.propensity is None:
        return
    logged = log.propensity if log.propensity.ndim == 1 else log.propensity[np.arange(len(log)), log.action]
    off = np.abs(chosen - logged) > rounding(logged) + rounding(chosen)
    if off.any():
        row = int(off.argmax())
        raise LogError(
            f"the propensity of the action taken in row {log.row_in_source(row)} is {chosen[row]:.6g} in what was "
            f"given and {logged[row]:.6g} in the log, and so in {int(off.sum()):,} of {len(log):,} rows; give those "
            "of the policy that acted",
            "propensity-given",
        )


def _from_array(log: "Log", given: Any) -> np.ndarray:
    try:
        array = numbers_of(given)
    except PolicyError:
        raise SettingError(f"propensities cannot be made of a {type(given).__name__}; give {FORMS}") from None
    n = log.spec.n_observations
    if array.ndim != 2 or array.shape[1] != log.spec.n_actions:
        raise SettingError(
            f"the table of propensities has shape {array.shape}, and there are {log.spec.n_actions} actions; give a "
            "column for each"
        )
    if n is None:
        raise SettingError("observations are not codes, so that they cannot be rows of an array; give a function")
    if len(array) < n:
        row = int(np.argmax(log.observation >= len(array)))
        if log.observation[row] >= len(array):
            raise LogError(
                f"the table of propensities has {len(array):,} rows, and the observation in row "
                f"{log.row_in_source(row)} is {log.observation[row]}; give a row for each observation"
            )
    return array[log.observation]


def _from_mapping(log: "Log", given: Mapping[Any, Any]) -> np.ndarray:
    """Return the vector of each row's observation; keys are values, or tuples for observations of several entries."""
    first, code = _distinct(log.observation)
    vectors = []
    for row, key in zip(first.tolist(), _keys(log, first), strict=True):
        if key not in given:
            raise LogError(
                f"no propensities are given for observation {key!r} of row {log.row_in_source(row)}; "
                f"{_advice_on_missing(log)}"
            )
        vectors.append(_vector(given[key], log.spec.n_actions, log.row_in_source(row)))
    return np.array(vectors)[code]


def _keys(log: "Log", rows: np.ndarray) -> list[Any]:
    """Return the observations of these rows as the keys of a mapping: as they were logged, before they were coded."""
    if log.spec.coding is None:
        found = [tuple(values) for values in log.observation[rows].reshape(len(rows), -1).tolist()]
        one = log.spec.observation_shape == ()
    else:
        values = log.spec.decode(log.observation[rows])
        found, one = list(zip(*values.to_pydict().values(), strict=True)), values.num_columns == 1
    return [key[0] for key in found] if one else found


def _vector(given: Any, n_actions: int, row: int) -> np.ndarray:
    try:
        vector = numbers_of(given)
    except PolicyError as error:
        raise LogError(f"what is given as propensities for row {row} {error}") from None
    if vector.shape != (n_actions,):
        raise LogError(f"what is given as propensities for row {row} {fault_of(vector, n_actions)}")
    return vector


def _from_function(log: "Log", function: Callable[..., Any]) -> np.ndarray:
    """Return what a function of observations gives, (N, A), or a function of one observation and action, a number."""
    A = log.spec.n_actions
    if _n_arguments(function) == 2:
        first, code = _distinct(log.observation)
        values = [
            [
                called(function, f"the observation of row {named} and action {action}", np.array(seen)[()], action)
                for action in range(A)
            ]
            for named, seen in zip(log.rows_in_source(first), log.observation[first], strict=True)
        ]
        try:
            return np.array(values, np.float64)[code]
        except (TypeError, ValueError):
            raise ContractError("a function of observation and action must return one probability") from None
    returned = called(function, "all observations", np.array(log.observation))  # a copy: the log must stay as it is
    try:
        table = numbers_of(returned)
    except PolicyError as error:
        raise ContractError(f"what the function of observations returned {error}") from None
    if table.shape != (len(log), A):
        raise ContractError(
            f"the function of observations returned shape {table.shape}, and there are {len(log):,} of them and {A} "
            "actions; return one vector for each, or take two arguments, observation and action, and return a number"
        )
    return table


def called(function: Callable[..., Any], what: str, *arguments: Any) -> Any:
    """Return what a function of the user's returns. Raise `ContractError` where it raises; `what` says called for what.

    The function's own error is the cause.
    """
    try:
        return function(*arguments)
    except Exception as error:
        name = function.__qualname__ if inspect.isroutine(function) else type(function).__name__
        raise ContractError(
            f"{name} raised {type(error).__name__} for {what}: {error}; correct it, or try it on log.observation first"
        ) from error


def _n_arguments(function: Callable[..., Any]) -> int:
    """Return how many arguments a function requires; 1 where Python cannot tell."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 1
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(one.kind in positional and one.default is inspect.Parameter.empty for one in parameters)


def _advice_on_missing(log: "Log") -> str:
    """Return what to do where observations have no propensities: a list of numbers that do not recur has no end."""
    if log.observation.dtype.kind != "f":
        return "add them"
    return (
        "observations are numbers, too many for a table: add a column for each action to the log, with its probability "
        "in each row, and name these columns with propensity=; or add what is missing"
    )


def _from_frame(log: "Log", frame: Any) -> np.ndarray:
    """Return the vector of each row's observation, from a table with a row for each distinct observation."""
    actions, observed = _columns_of_actions(log, frame), _columns_of_observations(log, frame)
    if log.spec.coding is not None:  # categories that the log does not have are those of no row
        stacked = log.spec.encode(frame.select(observed), unseen="other")
        stacked = stacked.reshape(len(stacked), -1)
    else:
        values = [CLEAN["observation"](name, to_numpy(name, frame.column(name))) for name in observed]
        stacked = np.stack(common_dtype(dict(zip(observed, values, strict=True))), axis=1)
    flat = log.observation.reshape(len(log), -1)
    if stacked.shape[1] != flat.shape[1]:
        raise LogError(
            f"the table of propensities has {stacked.shape[1]} columns of the observation ({listing(observed)}), and "
            f"an observation has {flat.shape[1]} numbers; name them as in the log"
        )
    there, here = common_dtype({"observation given": stacked, "observation": flat})
    known, wanted = keys_of(np.ascontiguousarray(there)), keys_of(np.ascontiguousarray(here))
    order = np.argsort(known, kind="stable")
    if np.any(known[order][1:] == known[order][:-1]):
        again = int(order[1:][known[order][1:] == known[order][:-1]].min())
        raise LogError(f"row {again} of the table of propensities has an observation that is there twice; drop one")
    at = np.minimum(np.searchsorted(known[order], wanted), len(known) - 1)
    missing = known[order][at] != wanted
    if missing.any():
        row = int(missing.argmax())
        raise LogError(
            f"the table of propensities has no row for {_shown(flat[row])}, the observation of row "
            f"{log.row_in_source(row)}, nor for {int(missing.sum()):,} rows in all; {_advice_on_missing(log)}"
        )
    columns = [CLEAN["reward"](name, to_numpy(name, frame.column(name))) for name in actions]
    return np.stack(columns, axis=1)[order[at]]


def _columns_of_actions(log: "Log", frame: Any) -> list[str]:
    """Return the columns of the actions, in their order: named by label, by code, or `propensity_0`, ..."""
    A = log.spec.n_actions
    codes = [str(code) for code in range(A)]
    for labels in (log.spec.actions, codes, [f"propensity_{code}" for code in codes]):
        at = [] if labels is None else positions_of(labels, frame.column_names, spelled_value)
        found = [frame.column_names[one] for one in at if one is not None]
        if len(found) == A and len(set(found)) == A:
            return found
    names = listing(log.spec.actions or codes)
    raise LogError(
        f"the table of propensities has the columns {listing(frame.column_names)}, and needs one for each action: "
        f"{names}"
    )


def _columns_of_observations(log: "Log", frame: Any) -> list[str]:
    """Return the columns of the observation, in the order of its entries: as in the log, or numbered."""
    flat = [f"observation_{'_'.join(map(str, index))}" for index in np.ndindex(*log.spec.observation_shape)]
    coded = None if log.spec.coding is None else log.spec.coding.names
    for names in (coded or log.spec.features, ("observation",) if log.spec.observation_shape == () else flat):
        if names and set(names) <= set(frame.column_names):
            return list(names)
    raise LogError(
        f"the table of propensities has the columns {listing(frame.column_names)}, and needs those of the "
        f"observation: {listing(coded or log.spec.features or ('observation',))}"
    )


def _distinct(observation: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a row of each distinct observation, and which of these each row has."""
    _, first, code = np.unique(keys_of(observation), return_index=True, return_inverse=True)
    return first, code


def _shown(values: np.ndarray) -> str:
    return ", ".join(f"{value:.6g}" for value in values[:8]) + ", ..." * (len(values) > 8)
