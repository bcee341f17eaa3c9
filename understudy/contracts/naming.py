"""How messages name an object that a user gave."""

from typing import Any


def name_of(part: Any) -> str:
    """Return an object as `str` shows it, or its class where that would show an address, which differs between runs.

    >>> class Mine: ...
    >>> name_of(Mine()), name_of(3)
    ('Mine', '3')
    """
    kind = type(part)
    shows_address = kind.__str__ is object.__str__ and kind.__repr__ is object.__repr__
    return kind.__name__ if shows_address else str(part)
