"""Parts of the library that need an optional dependency, imported when they are first used."""

from importlib import import_module
from importlib.util import find_spec
from typing import Any


def import_extra(package: str, name: str, module: str, extra: str) -> Any:
    """Return `name` of a module that needs an extra. Raise `ModuleNotFoundError`, with how to install it, without it.

    >>> import_extra("understudy.contracts", "Step", "extras", "nonsense")
    Traceback (most recent call last):
    ...
    ModuleNotFoundError: Step needs nonsense: pip install "nonsense" (in the folder of the source, --constraint constraints.txt takes versions that were tested)
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


def installed(extra: str) -> bool:
    """Return whether the modules of an extra can be found; nothing is imported.

    >>> installed("nonsense")
    False
    """
    return all(find_spec(module) is not None for module in NEEDED.get(extra, [extra]))


def how_to_install(extra: str) -> str:
    """Return the command that installs what an extra needs, wherever Understudy itself was installed from.

    There is no release of Understudy to install by name, and who installed a wheel has no folder of the source.

    >>> how_to_install("torch").partition(" (")[0]
    'pip install "torch>=2.2"'
    """
    packages = " ".join(f'"{one}"' for one in NEEDED.get(extra, {extra: extra}).values())
    return (
        f"pip install {packages} (in the folder of the source, --constraint constraints.txt takes versions that were "
        "tested)"
    )


NEEDED = {
    "torch": {"torch": "torch>=2.2"},
    "sb3": {"torch": "torch>=2.2", "stable_baselines3": "stable-baselines3>=2.3"},
    "hdf5": {"h5py": "h5py>=3.10"},
    "minari": {"h5py": "h5py>=3.10", "minari": "minari>=0.5.4"},
    "ray": {"ray": "ray>=2.40"},
}
"""The modules that each extra installs, and the packages that they are in, as pyproject.toml has them."""
