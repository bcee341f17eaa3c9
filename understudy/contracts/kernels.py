"""Which compiled functions act and learn for a learner: they are registered for the class of its arrays.

The loop calls `has_policy`, `act` and `learn`; which kernel serves them is decided by the type of the learner's arrays
when the loop is compiled.
"""

import inspect
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numba import typeof, types
from numba.core.errors import NumbaError
from numba.extending import overload

from understudy.contracts.compiling import MERGED, allocating, compiled, kernel
from understudy.errors import ContractError

ACT = ("arrays", "code", "policy")
LEARN = ("arrays", "code", "action", "reward", "next_code", "terminated", "truncated")
HAS_POLICY = ("arrays", "code")
HEAR_CUT = ("arrays",)
POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class Kernels(NamedTuple):
    """The compiled functions of one kind of learner."""

    act: Any
    learn: Any
    has_policy: Any
    hear_cut: Any
    built_in: bool  # part of Understudy, whose compiled loops are kept on disk


_registered: dict[type, Kernels] = {}
_functions: dict[type, dict[str, Any]] = {}  # as they were given
_checked: set[Any] = set()
_compiled: set[type] = set()


@kernel
def always(arrays, code):
    """True: a learner that works on arrays of its own has a policy at every observation."""
    return True


@kernel
def unmoved(arrays):
    """Nothing to do: a learner that looks at single steps need not know that the last one ended an episode."""


def register_kernels(
    arrays: type,
    *,
    act: Callable,
    learn: Callable,
    has_policy: Callable | None = None,
    hear_cut: Callable | None = None,
) -> None:
    """Register the compiled form of a learner, once, where its module is imported.

    `arrays` is the NamedTuple class that the learner's `arrays()` returns an object of; its fields are NumPy arrays.
    The functions are plain Python, in the part of it that Numba compiles, and see integers, floats and those arrays:

    - `act(arrays, code, policy)` writes the policy at the observation with this code into the array `policy`;
    - `learn(arrays, code, action, reward, next_code, terminated, truncated)` takes in one step;
    - `has_policy(arrays, code)` is for our look-ahead, which evaluates policies while the loop pauses: leave it out;
    - `hear_cut(arrays)` is told that the step learned last ended its episode, as `HearsCuts` says; it may be left out.

    They run fastest where they make no arrays. Raises `ContractError` where one of them cannot be called like that;
    what the compiler objects to is said, in a sentence, when the first run begins.
    """
    if not (isinstance(arrays, type) and issubclass(arrays, tuple) and "_fields" in vars(arrays)):
        raise ContractError(
            f"kernels are registered for a NamedTuple class, not for {arrays!r}; give the class of what the learner's "
            "arrays() returns"
        )
    given = {
        "act": (act, ACT),
        "learn": (learn, LEARN),
        "has_policy": (has_policy or always, HAS_POLICY),
        "hear_cut": (hear_cut or unmoved, HEAR_CUT),
    }
    if arrays in _compiled and _functions[arrays] != {name: function for name, (function, _) in given.items()}:
        raise ContractError(
            f"{arrays.__name__} has run with other kernels in this process, and its loop is compiled; define the "
            "NamedTuple class anew together with the kernels, or start Python again"
        )
    made = {name: _compilable(arrays, name, function, takes) for name, (function, takes) in given.items()}
    built_in = arrays.__module__.partition(".")[0] == __name__.partition(".")[0]
    _registered[arrays] = Kernels(**made, built_in=built_in)
    _functions[arrays] = {name: function for name, (function, _) in given.items()}


def _compilable(arrays: type, name: str, function: Any, takes: tuple[str, ...]) -> Any:
    plain = function.py_func if compiled(function) else function
    if not inspect.isfunction(plain):
        raise ContractError(f"{name} of {arrays.__name__} is {function!r}; give a function {name}({', '.join(takes)})")
    parameters = inspect.signature(plain).parameters.values()
    if len(parameters) != len(takes) or any(part.kind not in POSITIONAL for part in parameters):
        raise ContractError(
            f"{name} of {arrays.__name__} is called as {name}({', '.join(takes)}), and {plain.__name__} has the "
            f"parameters ({', '.join(map(str, parameters))}); give it just those {len(takes)}, and keep options in the "
            "arrays"
        )
    # Not kept on disk: Numba would not notice a change in another file of its author.
    return function if compiled(function) else allocating(plain, keep=False)


def kernels_of(arrays: Any) -> Kernels:
    """Return the kernels that are registered for a learner's arrays, or raise `ContractError`."""
    found = _registered.get(type(arrays))
    if found is None:
        raise ContractError(
            f"no kernels are registered for {type(arrays).__name__}, which arrays() of the learner returned; call "
            f"understudy.learners.register_kernels({type(arrays).__name__}, act=..., learn=...) where it is defined"
        )
    return found


def check_kernels(arrays: Any, n_actions: int) -> Kernels:
    """Return the kernels of a learner's arrays, compiled for them.

    Raises `ContractError` with a sentence where a function of somebody else's cannot be compiled, instead of the
    compiler's trace of the whole loop.
    """
    kernels = kernels_of(arrays)
    if kernels.built_in:
        return kernels
    for name, part in arrays._asdict().items():
        if not isinstance(part, np.ndarray | tuple):
            raise ContractError(
                f"{name} of {type(arrays).__name__} is a {type(part).__name__}, not a NumPy array; make it one with "
                "np.array, a single number as an array of one entry, so that kernels can write on it"
            )
        if isinstance(part, np.ndarray) and part.dtype.hasobject:
            raise ContractError(f"{name} of {type(arrays).__name__} holds objects, and kernels see numbers only")
    try:
        kind = typeof(arrays)
    except (ValueError, NumbaError) as error:
        raise ContractError(f"{type(arrays).__name__} cannot be compiled: {_reason(error)}") from None
    if (kind, n_actions) in _checked:
        return kernels
    whole, real, flag = types.int64, types.float64, types.boolean
    arguments = {
        "has_policy": (kind, whole),
        "act": (kind, whole, typeof(np.empty(n_actions))),
        "learn": (kind, whole, whole, real, whole, flag, flag),
        "hear_cut": (kind,),
    }
    for name, signature in arguments.items():
        function = kernels._asdict()[name]
        if compiled(function):
            try:
                function.compile(signature)
            except Exception as error:
                raise ContractError(
                    f"{name} of {type(arrays).__name__} cannot be compiled: {_reason(error)}; kernels are the "
                    "part of Python that Numba compiles; with compiled=False the learner runs in plain Python"
                ) from None
    _checked.add((kind, n_actions))
    _compiled.add(type(arrays))
    return kernels


def kernels_to_send() -> list[tuple[type, dict[str, Any]]]:
    """Return the registered classes that another process cannot import, of a script or a notebook, and their kernels.

    cloudpickle makes them anew there, and they have to be registered anew; see `receive_kernels`.
    """
    homeless = [
        kind for kind in _functions if sys.modules.get(kind.__module__) is None or kind.__module__ == "__main__"
    ]
    return [(kind, _functions[kind]) for kind in homeless]


def receive_kernels(sent: list[tuple[type, dict[str, Any]]]) -> None:
    """Register kernels that another process has sent."""
    for kind, functions in sent:
        if kind not in _registered:
            register_kernels(kind, **functions)


@kernel
def is_policy(policy):
    """True if the entries of a policy are not negative and sum to 1 within 1e-5; False for NaN."""
    total = 0.0
    for probability in policy:
        total += probability if probability >= 0.0 else np.inf
    return abs(total - 1.0) <= 1e-5


def _reason(error: Exception) -> str:
    """Return the sentence of a compiler's message that says what is wrong, and in which line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    said = [line for line in lines if not line.startswith(AROUND)]
    reason = said[0].removesuffix(" found for signature:") if said else type(error).__name__
    where = next((found for line in reversed(lines) if (found := IN_FILE.search(line))), None)
    needed = "; decorate functions that it calls with numba.njit" if "Untyped global name" in reason else ""
    return reason + (f" ({Path(where[1]).name}, line {where[2]})" if where else "") + needed


AROUND = ("During:", "File ", "Failed in", "Enable logging", "- ", ">>>")
"""How lines begin that Numba writes around its reason."""

IN_FILE = re.compile(r'File "([^"]+)", line (\d+)')
"""How Numba names a line."""


def has_policy(arrays, code):
    """True if the policy at an observation, given by its code, is known."""
    return kernels_of(arrays).has_policy(arrays, code)


def act(arrays, code, policy):
    """Write the policy at an observation, given by its code."""
    kernels_of(arrays).act(arrays, code, policy)


def learn(arrays, code, action, reward, next_code, terminated, truncated):
    """Take in one step."""
    kernels_of(arrays).learn(arrays, code, action, reward, next_code, terminated, truncated)


def hear_cut(arrays):
    """Be told that the step learned last ended its episode."""
    kernels_of(arrays).hear_cut(arrays)


@overload(has_policy, jit_options=MERGED)
def _has_policy(arrays, code):
    if isinstance(arrays, types.BaseNamedTuple):
        function = _registered[arrays.instance_class].has_policy
        return lambda arrays, code: function(arrays, code)
    return None


@overload(act, jit_options=MERGED)
def _act(arrays, code, policy):
    if not isinstance(arrays, types.BaseNamedTuple):
        return None
    function = _registered[arrays.instance_class].act

    def write_policy(arrays, code, policy):  # what the function returns is not looked at
        function(arrays, code, policy)

    return write_policy


@overload(learn, jit_options=MERGED)
def _learn(arrays, code, action, reward, next_code, terminated, truncated):
    if not isinstance(arrays, types.BaseNamedTuple):
        return None
    function = _registered[arrays.instance_class].learn

    def take_in_step(arrays, code, action, reward, next_code, terminated, truncated):
        function(arrays, code, action, reward, next_code, terminated, truncated)

    return take_in_step


@overload(hear_cut, jit_options=MERGED)
def _hear_cut(arrays):
    if not isinstance(arrays, types.BaseNamedTuple):
        return None
    function = _registered[arrays.instance_class].hear_cut

    def end_episode(arrays):
        function(arrays)

    return end_episode
