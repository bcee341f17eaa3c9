"""The parts of a sweep as they are given in Python: learners, simulators, encoders and logs, by name."""

import copy
import inspect
import os
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from understudy import simulators
from understudy.contracts.encoding import Encodes
from understudy.contracts.fitting import ensure_fitted, needs_fit
from understudy.contracts.offering import offers
from understudy.errors import SettingError
from understudy.logs import Log, read
from understudy.runs.describing import describe
from understudy.runs.experiment import refuse_unknown
from understudy.runs.probes import named_probes
from understudy.settings import shown
from understudy.sweeps.names import KEYS, Combination, check_names

IDENTITY = "identity"
"""The name of the encoder None, with which every observation is a state."""

ADVICE = {
    "learner": "a function seed -> learner, or log, encoder, seed -> learner",
    "simulator": "a function log, encoder -> simulator such as us.psrs, or its name",
    "encoder": "None, an encoder, or a function log -> encoder",
    "log": "a log, or the path of one",
}


class SweepExperiment(NamedTuple):
    """What an experiment of a sweep is of."""

    simulator: Any
    make: Callable[[int], Any]
    probes: dict[str, Any]
    every: int


class SweepParts(Protocol):
    """Where a sweep takes its parts from; logs are read, and encoders fitted, when a combination needs them."""

    @property
    def names(self) -> Mapping[str, list[str]]:
        """The names of learners, simulators, encoders and logs, by "learner", "simulator", "encoder" and "log"."""

    @property
    def fingerprints(self) -> Mapping[str, str]:
        """The fingerprints of those logs, by name, that need not be read for it: another of its name is refused."""

    def described(self, key: str, name: str) -> dict[str, Any]:
        """Return what a part is, as JSON can hold it: another under the same name is refused. Not called for logs."""

    def log(self, name: str) -> Log:
        """Return a log."""

    def encoder(self, name: str, log: Log) -> Any:
        """Return a fitted encoder, or None."""

    def simulator(self, name: str, log: Log, encoder: Any) -> Any:
        """Return a simulator."""

    def deployment(self, combination: Combination, log: Log, encoder: Any, simulator: Any) -> SweepExperiment:
        """Return what is run in a combination."""


class GivenParts:
    """Parts that are Python objects."""

    def __init__(
        self, learners: Any, simulators: Any, encoders: Any, logs: Any, probes: Any = None, every: int = 1000
    ) -> None:
        given = {"learner": learners, "simulator": simulators, "encoder": encoders, "log": logs}
        self._given = {key: named_parts(key, given[key]) for key in KEYS}
        self.names = {key: list(parts) for key, parts in self._given.items()}
        self._probes, self._every = named_probes(probes), every
        for name, one in self._given["simulator"].items():
            if isinstance(one, str) and (one not in simulators_by_name() or one == "real"):
                raise SettingError(
                    f"there is no simulator {one!r}, which simulator {name!r} of the sweep is to be; give "
                    f"{ADVICE['simulator']}: one of {', '.join(simulators_by_name())}"
                )
        for key in ("learner", "simulator"):
            for name, one in self._given[key].items():
                if not callable(one) and not isinstance(one, str):
                    raise SettingError(f"{key} {name!r} of the sweep is {shown(one)}; give {ADVICE[key]}")

    @property
    def fingerprints(self) -> dict[str, str]:
        return {name: log.fingerprint for name, log in self._given["log"].items() if isinstance(log, Log)}

    def described(self, key: str, name: str) -> dict[str, Any]:
        found = describe(self._given[key][name])
        refuse_unknown(found.unknown)
        return {"is": found.plain, "digest": found.digest}

    def log(self, name: str) -> Log:
        given = self._given["log"][name]
        return given if isinstance(given, Log) else read(given)

    def encoder(self, name: str, log: Log) -> Any:
        given = self._given["encoder"][name]
        if given is None:
            return None
        if offers(given, Encodes):
            # A copy: what is fitted on one log is not for another.
            encoder = copy.deepcopy(given) if needs_fit(given) else given
        elif callable(given):
            encoder = given(log)
        else:
            raise SettingError(f"encoder {name!r} of the sweep is {shown(given)}; give {ADVICE['encoder']}")
        return None if encoder is None else ensure_fitted(encoder, log)

    def simulator(self, name: str, log: Log, encoder: Any) -> Any:
        given = self._given["simulator"][name]
        function = simulators_by_name()[given] if isinstance(given, str) else given
        return function(log, encoder) if takes(function, 2) else function(log)

    def deployment(self, combination: Combination, log: Log, encoder: Any, simulator: Any) -> SweepExperiment:
        given = self._given["learner"][combination.learner]
        make = given if takes(given, 1) else partial(given, log, encoder)
        return SweepExperiment(simulator, make, self._probes, self._every)


def simulators_by_name() -> dict[str, Callable[..., Any]]:
    """Return the simulators that a sweep knows by name."""
    return {name: vars(simulators)[name] for name in simulators.__all__ if name != "real"}


def takes(function: Callable[..., Any], n_arguments: int) -> bool:
    """True if a function can be called with so many arguments, given by position."""
    try:
        inspect.signature(function).bind(*range(n_arguments))
    except TypeError:
        return False
    except ValueError:  # a function of C, whose arguments are not known
        return True
    return True


def named_parts(key: str, given: Any) -> dict[str, Any]:
    """Return parts by name; those of a list, or a single one, are named for what they are.

    >>> named_parts("simulator", [simulators.psrs, "qbe"]) == {"psrs": simulators.psrs, "qbe": "qbe"}
    True
    >>> named_parts("log", "logs/may.parquet"), named_parts("encoder", None)
    ({'may': 'logs/may.parquet'}, {'identity': None})
    """
    if isinstance(given, Mapping):
        named = dict(given)
    else:
        several = isinstance(given, Iterable) and not isinstance(given, str | os.PathLike | Log) and not callable(given)
        items = list(given) if several and not offers(given, Encodes) else [given]
        names = [_name_of(key, item) for item in items]
        named = dict(zip(names, items, strict=True))
        if len(named) < len(items):
            raise SettingError(f"two {key}s of the sweep have one name, of {', '.join(names)}; give a mapping of names")
    if not named:
        raise SettingError(f"the sweep has no {key}; give one or more by name, each {ADVICE[key]}")
    check_names(key, named)
    return named


def _name_of(key: str, item: Any) -> str:
    if item is None and key == "encoder":
        return IDENTITY
    if key == "log" and isinstance(item, str | os.PathLike):
        return Path(item).stem
    if isinstance(item, Log):
        return "log"
    if isinstance(item, str):
        return item
    function = inspect.isroutine(item) or isinstance(item, type)
    name = item.__name__ if function else type(item).__name__
    if name == "<lambda>" or (not function and key != "encoder"):
        raise SettingError(
            f"a {key} of the sweep is {shown(item)}, which has no name; give a mapping of names, each {ADVICE[key]}"
        )
    return name
