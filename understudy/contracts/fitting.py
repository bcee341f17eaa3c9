"""When an encoder is fitted: one rule for simulators, learners and audits."""

import threading
from contextlib import suppress

from understudy.contracts import Encoder
from understudy.errors import LogError
from understudy.logs import Log

_one_by_one = threading.RLock()
"""Held while an encoder is fitted: runs in threads may share one, and only the first is to fit it."""


def needs_fit(encoder: Encoder) -> bool:
    """Whether an encoder is to be fitted before it is used: it says `fitted = False`, or says nothing.

    One that only encodes, without a `fit`, never is.
    """
    return hasattr(encoder, "fit") and not getattr(encoder, "fitted", False)


def ensure_fitted(encoder: Encoder, log: Log) -> Encoder:
    """The same encoder, fitted on this log where it was not fitted yet (see `Encoder`).

    One that does not say whether it is fitted is fitted once and given `fitted = True`; where it takes no attributes,
    it cannot be told from one that was never fitted, and is fitted again by each who uses it.
    """
    with _one_by_one:
        if needs_fit(encoder):
            says = hasattr(encoder, "fitted")
            made = encoder.fit(log)
            if made is not None and made is not encoder:
                raise LogError(
                    f"fit of {type(encoder).__name__} returned another object, a {type(made).__name__}; fit must keep "
                    "what it learns in the encoder itself and return that"
                )
            if not says:
                with suppress(AttributeError, TypeError):  # frozen, or with slots
                    encoder.fitted = True  # type: ignore[attr-defined]
    return encoder
