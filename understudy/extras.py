"""Parts of the library that need an optional dependency, imported when they are first used."""

from importlib import import_module
from typing import Any


def import_extra(package: str, name: str, module: str, extra: str) -> Any:
    """Return `name` of a module that needs an extra. Raise `ModuleNotFoundError`, with how to install it, without it.

    >>> import_extra("understudy.contracts", "Step", "extras", "nonsense")
    Traceback (most recent call last):
    ...
    ModuleNotFoundError: Step needs nonsense: pip install ".[nonsense]" --constraint constraints.txt in the folder of Understudy's source
    """  # noqa: E501
    require(name, extra)
    return getattr(import_module(f"{package}.{module}"), name)


def require(name: str, extra: str) -> None:
    """Raise `ModuleNotFoundError`, with how to install it, where the extra that `name` needs is not installed."""
    for module in NEEDED.get(extra, [extra]):
        try:
            import_module(module)
        except ImportError as error:
            raise ModuleNotFoundError(f"{name} needs {module}: {how_to_install(extra)}", name=module) from error


def how_to_install(extra: str = "") -> str:
    """Return the command that installs an extra: from the source, since there is no release to install by name.

    >>> how_to_install()
    "pip install . --constraint constraints.txt in the folder of Understudy's source"
    """
    what = f'".[{extra}]"' if extra else "."
    return f"pip install {what} --constraint constraints.txt in the folder of Understudy's source"


NEEDED = {
    "torch": ["torch"],
    "sb3": ["torch", "stable_baselines3"],
    "hdf5": ["h5py"],
    "minari": ["h5py", "minari"],
    "ray": ["ray"],
}
"""The modules that each extra installs."""
