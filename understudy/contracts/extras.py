"""Parts that need more than the core installs, opened when they are asked for."""

from importlib import import_module
from typing import Any


def opened(room: str, name: str, home: str, extra: str) -> Any:
    """`name` of a module of a room, which needs an extra. Raises `ModuleNotFoundError` with the line that installs it.

    >>> opened("understudy.contracts", "Step", "extras", "nonsense")
    Traceback (most recent call last):
    ...
    ModuleNotFoundError: Step needs nonsense: pip install ".[nonsense]" --constraint constraints.txt in the folder of Understudy's source
    """  # noqa: E501
    require(name, extra)
    return getattr(import_module(f"{room}.{home}"), name)


def require(name: str, extra: str) -> None:
    """Raise `ModuleNotFoundError`, with the line that installs it, where the extra that `name` needs is not there."""
    for module in NEEDED.get(extra, [extra]):
        try:
            import_module(module)
        except ImportError as error:
            raise ModuleNotFoundError(f"{name} needs {module}: {how_to_install(extra)}", name=module) from error


def how_to_install(extra: str = "") -> str:
    """What to type, and where: from the source, since there is no release on an index to install by name.

    >>> how_to_install()
    "pip install . --constraint constraints.txt in the folder of Understudy's source"
    """
    what = f'".[{extra}]"' if extra else "."
    return f"pip install {what} --constraint constraints.txt in the folder of Understudy's source"


NEEDED = {"torch": ["torch"], "sb3": ["torch", "stable_baselines3"]}
"""The modules that an extra brings."""
