"""Old names that still work in this release, with a warning that tells the new one."""

import warnings


def warn_of_old_name(old: str, new: str, stacklevel: int = 3) -> None:
    """Warn that a name is deprecated, and say what to write instead; by default where the caller was called."""
    warnings.warn(f"{old} is deprecated; use {new}", DeprecationWarning, stacklevel=stacklevel)
