"""Records the rules that a part keeps; raises ContractError for the first that is broken."""

import inspect
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

import cloudpickle
import numpy as np

from understudy.contracts import Log, Stop
from understudy.envs import Grid, record
from understudy.errors import ContractError, SettingError, UnderstudyError
from understudy.runs import Run
from understudy.runs.describing import describe

CLOSE = 1e-9
"""How far policies that are computed together, or by another form, may be from those asked one by one."""


@dataclass(frozen=True)
class Checked:
    """The rules that a part keeps, in the order in which they were checked, and what it offers that is not used."""

    part: str
    rules: tuple[str, ...]
    not_used: tuple[str, ...] = ()  # optional forms with the reason, as "the look-ahead form, since ..."

    def __repr__(self) -> str:
        number = f"{len(self.rules)} rule{'' if len(self.rules) == 1 else 's'}"
        lines = [f"{self.part} keeps {number}:", *(f"  {rule}" for rule in self.rules)]
        return "\n".join(lines + [f"not used: {form}" for form in self.not_used])


class Rules:
    """Collects the rules that a part keeps, and raises `ContractError` at the first that it breaks."""

    def __init__(self, part: str) -> None:
        self.part = part
        self._kept: list[str] = []
        self._not_used: list[str] = []

    def check(self, rule: str, kept: Any, found: str, advice: str) -> None:
        """Note a rule that is kept; else raise `ContractError` with the rule, what was found and what to do."""
        if not kept:
            raise ContractError(f"{self.part} breaks the rule that {rule}: {found}; {advice}")
        if rule not in self._kept:
            self._kept.append(rule)

    @contextmanager
    def trying(self, rule: str, advice: str = "", *, ours: str = "") -> Iterator[None]:
        """While this block is open, an error breaks the rule.

        An error of ours has an advice of its own, and `ours` is added to it; `advice` is added to all other errors.
        """
        try:
            yield
        except Exception as error:
            is_ours = isinstance(error, UnderstudyError)
            found = str(error) if is_ours else f"it raised {type(error).__name__}: {error}"
            said = [f"{self.part} breaks the rule that {rule}: {found}", ours if is_ours else advice]
            raise ContractError("; ".join(filter(None, said))) from error
        self.check(rule, True, "", "")

    def note_unused(self, form: str, reason: str) -> None:
        """Note an optional form that the part offers and the library does not use."""
        self._not_used.append(f"{form}, since {reason}")

    def checked(self) -> Checked:
        """Return the rules that were kept, and what is not used."""
        return Checked(self.part, tuple(self._kept), tuple(self._not_used))


def log_or_default(log: Any) -> Log:
    """Return the log, or `default_log()` for None. Raise `SettingError` where it is not a log."""
    if log is not None and not isinstance(log, Log):
        raise SettingError(f"log is a {type(log).__name__}; read it with us.read")
    return default_log() if log is None else log


def can_be_called_with(function: Callable, n: int) -> bool:
    """True if a function can be called with n positional arguments, or does not say what it takes.

    >>> can_be_called_with(lambda seed: None, 1), can_be_called_with(lambda: None, 1)
    (True, False)
    """
    try:
        inspect.signature(function).bind(*range(n))
    except ValueError:  # some functions that are written in C have no signature
        return True
    except TypeError:
        return False
    return True


def is_whole(value: Any) -> bool:
    """True if a value is an integer of Python or NumPy."""
    return isinstance(value, int | np.integer)


def default_log() -> Log:
    """Return a small log with 25 observations, numbered from 0, and 5 actions, all of them taken everywhere."""
    return record(Grid(slip=0.2), episodes=60, seed=0, max_episode_steps=200)


def same_run(one: Run, other: Run) -> bool:
    """True if two runs were served the same rows, had the same episodes and readings, and stopped in the same way."""
    return (
        np.array_equal(one.rows, other.rows)
        and np.array_equal(one.openings, other.openings)
        and all(_same_or_none(one, other, name) for name in ("emissions", "rungs", "cuts"))
        and np.array_equal(one.ends, other.ends)
        and np.array_equal(one.returns, other.returns)
        and one.partial == other.partial
        and _same_stop(one.stopped, other.stopped)
        and one.curves.keys() == other.curves.keys()
        and all(np.array_equal(one.curves[name], other.curves[name], equal_nan=True) for name in one.curves)
    )


def _same_or_none(one: Run, other: Run, name: str) -> bool:
    """True if an array of two runs is the same, or both have none."""
    ours, theirs = getattr(one, name), getattr(other, name)
    return ours is theirs if ours is None or theirs is None else np.array_equal(ours, theirs)


def _same_stop(one: Stop, other: Stop) -> bool:
    """True if two stops are equal, but for the rounding of the mass, which is a sum of a policy's probabilities."""
    if one.mass is None or other.mass is None:
        return one == other
    return replace(one, mass=None) == replace(other, mass=None) and abs(one.mass - other.mass) <= CLOSE


def copy_of(part: Any, advice: str) -> Any:
    """Return a deep copy of a part. Raise `ContractError` with this advice where it cannot be copied."""
    try:
        return deepcopy(part)
    except Exception as error:
        raise ContractError(
            f"{type(part).__name__} cannot be copied ({type(error).__name__}: {error}); {advice}"
        ) from error


@contextmanager
def global_randomness(seed: int) -> Iterator[None]:
    """While this block is open, the process's own generators begin at this seed; after it, where they were."""
    before, numpys = random.getstate(), np.random.get_state()  # noqa: NPY002 (the generator that parts must not use)
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    restore_torch = _seed_torch(seed)
    try:
        yield
    finally:
        random.setstate(before)
        np.random.set_state(numpys)  # noqa: NPY002
        restore_torch()


def _seed_torch(seed: int) -> Callable[[], None]:
    """Seed torch's generator where torch is loaded, and return what sets it back."""
    torch = sys.modules.get("torch")
    if torch is None:
        return lambda: None
    state = torch.random.get_rng_state()
    torch.manual_seed(seed)
    return lambda: torch.random.set_rng_state(state)


def check_travels(rules: Rules, what: str, part: Any) -> None:
    """Check that a part can be sent to another process.

    It is not loaded here: in the process that a class of `__main__` was sent from, loading it replaces its methods.
    """
    advice = "make what cannot be pickled when it is first used, or run with backend='serial' or 'threads'"
    with rules.trying(f"{what} can be sent to other processes", advice):
        cloudpickle.dumps(part)


def check_described(rules: Rules, what: str, part: Any) -> None:
    """Check that a results folder can tell a part from others."""
    unknown = describe({what: part}).unknown
    found = "; ".join(f"{path} is {kind}" for path, kind in list(unknown.items())[:3])
    rules.check(
        f"a results folder can tell {what} from others (`out=`)",
        not unknown,
        f"{found}, which cannot be described",
        "give its class a property settings, a mapping of all that makes it what it is",
    )


def digest_of(settings: Any) -> str:
    """Return a digest of settings, in which functions count by what they do."""
    return describe({"settings": dict(settings)}).digest
