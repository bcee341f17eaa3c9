"""Sets of runs by name, and the checks that what is given are runs."""

from collections.abc import Hashable, Mapping
from typing import Any

from understudy.errors import ContractError
from understudy.runs import Runs


def named_runs(runs: Any, name: str | None = None) -> dict[Any, Runs]:
    """Return the sets of runs by name; a single set has the given name, by default that of its simulator.

    Raise `ContractError` where `runs` is neither `Runs` nor a mapping of names to `Runs`.
    """
    if isinstance(runs, Runs):
        return {name or runs.about.simulator_name or "runs": runs}
    if not isinstance(runs, Mapping):
        raise ContractError(
            f"runs is a {type(runs).__name__}; give runs, or a mapping of names to runs; us.load(folder) reads a folder"
        )
    for key, set_ in runs.items():
        check_runs(key, set_)
    return dict(runs)


def check_runs(name: Hashable, runs: Any) -> None:
    """Raise `ContractError`, with this name in its message, where `runs` is not `Runs`."""
    if not isinstance(runs, Runs):
        raise ContractError(f"{name!r} is a {type(runs).__name__}; give the Runs of an experiment")
