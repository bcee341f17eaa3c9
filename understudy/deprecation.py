"""Old names of things that were renamed: they work for this release, and warn."""

import warnings


def warn_of_old_name(old: str, new: str, stacklevel: int = 3) -> None:
    """Warn the caller of the function that calls this: `old` goes with the next release, `new` does the same.

    >>> with warnings.catch_warnings(record=True, action="always") as caught:
    ...     warn_of_old_name("log.sound()", "log.validate()")
    >>> print(caught[0].category.__name__, caught[0].message)
    DeprecationWarning log.sound() goes with the next release; use log.validate()
    """
    warnings.warn(f"{old} goes with the next release; use {new}", DeprecationWarning, stacklevel=stacklevel)
