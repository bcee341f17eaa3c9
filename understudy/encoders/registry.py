"""The names under which classes of encoders are saved: ours, and those that other packages register."""

from importlib import import_module
from typing import Any, TypeVar

from understudy.contracts.encoding import Encodes, Savable
from understudy.errors import ContractError, SettingError
from understudy.extras import import_extra

OURS = {"Boxes": "boxes", "Forward": "forward", "Homer": "homer", "Identity": "identity", "KMeans": "kmeans"}
"""The module of each class of ours, which is imported when one is used."""

EXTRAS = {"Forward": "torch", "Homer": "torch"}
"""The extra that some of them need."""

_registered: dict[str, type] = {}

Class = TypeVar("Class", bound=type[Savable])


def register(name: str, kind: Class) -> Class:
    """Let `encoders.save` and `encoders.load` know a class of encoders (see `Savable`). Return the class.

    The name goes into files, so choose one that no other package has, such as "yourpackage.YourEncoder", and keep it.
    Import the package before `load`. Raise `ContractError` where the class lacks a method, and `SettingError` where the
    name belongs to another class.
    """
    if not (isinstance(kind, type) and issubclass(kind, Encodes) and issubclass(kind, Savable)):
        raise ContractError(
            f"{kind!r} cannot be registered: it needs to be a class with encode(observations), contents() and "
            "from_contents(contents); see understudy.contracts.encoding"
        )
    if not isinstance(name, str) or not name or not name.isprintable():
        raise SettingError(f"an encoder cannot be registered as {name!r}; give a name, such as yourpackage.YourEncoder")
    other = _registered.get(name)
    if name in OURS or (other is not None and _full_name(other) != _full_name(kind)):
        owner = f"understudy.encoders.{name}" if name in OURS else _full_name(other)
        raise SettingError(f"{name!r} is the name of {owner}; register {_full_name(kind)} under another")
    _registered[name] = kind  # also where a notebook defines the class again
    return kind


def known_names() -> list[str]:
    """Return the names that `load` knows."""
    return [*OURS, *_registered]


def class_of(name: str) -> Any:
    """Return the class with this name. Raise `ModuleNotFoundError` where it needs an extra that is not installed."""
    if name in _registered:
        return _registered[name]
    if name in EXTRAS:
        return import_extra("understudy.encoders", name, OURS[name], EXTRAS[name])
    return getattr(import_module(f"understudy.encoders.{OURS[name]}"), name)


def name_of(kind: type) -> str:
    """Return the name of a class in files. Raise `ContractError` where it has none."""
    for name, other in reversed(_registered.items()):  # the newest of several
        if other is kind:
            return name
    if _full_name(kind) == f"understudy.encoders.{OURS.get(kind.__name__)}.{kind.__name__}":
        return kind.__name__
    raise ContractError(
        f"{_full_name(kind)} is not registered, so no file could be loaded as one; call "
        f'understudy.encoders.register("yourpackage.{kind.__name__}", {kind.__name__}) once, where the class is defined'
    )


def _full_name(kind: Any) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"
