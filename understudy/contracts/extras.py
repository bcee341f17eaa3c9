"""Parts that need more than the core installs, opened when they are asked for."""

from importlib import import_module
from typing import Any


def opened(room: str, name: str, home: str, extra: str) -> Any:
    """`name` of a module of a room, which needs an extra. Raises `ModuleNotFoundError` with the line that installs it.

    >>> opened("understudy.contracts", "Step", "extras", "nonsense")
    Traceback (most recent call last):
    ...
    ModuleNotFoundError: Step needs nonsense: pip install "understudy[nonsense]"
    """
    require(name, extra)
    return getattr(import_module(f"{room}.{home}"), name)


def require(name: str, extra: str) -> None:
    """Raise `ModuleNotFoundError`, with the line that installs it, where the extra that `name` needs is not there."""
    for module in NEEDED.get(extra, [extra]):
        try:
            import_module(module)
        except ImportError as error:
            said = f'{name} needs {module}: pip install "understudy[{extra}]"'
            raise ModuleNotFoundError(said, name=module) from error


NEEDED = {"torch": ["torch"], "sb3": ["torch", "stable_baselines3"]}
"""The modules that an extra brings."""
