"""What a Gymnasium environment is: what it was made with, where it knows that, and how it is set up."""

import dis
from typing import Any

import gymnasium
import numpy as np

from understudy.runs.describing.classes import functions_in
from understudy.runs.describing.functions import Parts, nested_codes
from understudy.runs.describing.ownership import is_yours

RANDOM_STATE = {"_np_random", "_np_random_seed"}
DESCRIBED_ELSEWHERE = {
    "env", "_cached_spec", "_action_space", "_observation_space", "_metadata", "_reward_range", *RANDOM_STATE,
}  # fmt: skip
"""Attributes of Gymnasium's wrappers, envs and spaces that are described elsewhere, or change with use."""

MADE_WITH = {"spec", "_saved_kwargs", "render_mode", "metadata", *DESCRIBED_ELSEWHERE}
"""The same, for an environment that knows what it was made with."""

WRITING_METHODS = {"append", "extend", "insert", "pop", "popleft", "clear", "update", "remove", "add", "setdefault",
                   "fill", "sort", "shuffle", "copyto"}  # fmt: skip
"""Methods and functions that write on their object or argument."""


def env_parts(env: gymnasium.Env, attributes: dict[str, Any]) -> tuple[Parts, set[str]]:
    """Return the parts of an environment, and the labels of those that are trusted to show its set-up.

    Where it knows what it was made with, the parts are that and its set-up; else all its attributes.
    """
    spec = None if isinstance(env, gymnasium.Wrapper) else env.spec
    made_with: Parts = []
    if spec is not None:
        made_with = [("id", spec.id), ("kwargs", spec.kwargs)]
    elif "_saved_kwargs" in attributes and not is_yours(type(env)):
        made_with = [("made_with", attributes["_saved_kwargs"])]
    left_out = MADE_WITH if made_with else DESCRIBED_ELSEWHERE
    kept = {name: part for name, part in attributes.items() if name not in left_out}
    kept = setup_attributes(type(env), kept) if made_with else kept
    parts = made_with + [(f".{name}", part) for name, part in kept.items()]
    if isinstance(env, gymnasium.Wrapper):
        parts.append((".env", env.env))
    return parts, {f".{name}" for name in kept} if made_with else set()


def setup_attributes(kind: type, attributes: dict[str, Any]) -> dict[str, Any]:
    """Return the attributes that say how an environment is set up, not where it is: data that only `__init__` sets.

    Attributes that another function of its classes sets, or may write on, are left out.
    """
    changing: set[str] = set()
    for base in kind.__mro__:
        for name, part in vars(base).items():
            codes = [code for function in functions_in(part) for code in nested_codes(function.__code__)]
            for code in codes if name != "__init__" else ():
                instructions = list(dis.get_instructions(code))
                changing |= {one.argval for one in instructions if one.opname in ("STORE_ATTR", "DELETE_ATTR")}
                if any(one.opname in ("STORE_SUBSCR", "DELETE_SUBSCR") for one in instructions) or (
                    WRITING_METHODS & set(code.co_names)
                ):
                    changing |= set(code.co_names)
    return {name: part for name, part in attributes.items() if name not in changing and _is_data(part)}


def _is_data(value: Any) -> bool:
    kinds = bool | int | float | complex | str | bytes | list | tuple | dict | set | frozenset | np.ndarray | np.generic
    return isinstance(value, kinds)
