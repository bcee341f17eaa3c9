"""When an encoder is fitted: one rule for simulators, learners and audits."""

import threading
from contextlib import suppress
from typing import TypeVar

from understudy.contracts.encoding import Encoder, Encodes, SaysFitted
from understudy.errors import ContractError
from understudy.logs import Log

AnyEncoder = TypeVar("AnyEncoder", bound=Encodes)

_one_by_one = threading.RLock()
"""Held while an encoder is fitted: runs in threads may share one, and only the first should fit it."""


def needs_fit(encoder: Encodes) -> bool:
    """Return True if an encoder has a `fit` and does not say that it is fitted."""
    return isinstance(encoder, Encoder) and not (isinstance(encoder, SaysFitted) and encoder.fitted)


def ensure_fitted(encoder: AnyEncoder, log: Log) -> AnyEncoder:
    """Fit an encoder on this log if it needs it, and return it.

    An encoder without `fitted` is given `fitted = True` afterwards. Where it takes no attributes (frozen, or with
    slots), each call fits it again.
    """
    with _one_by_one:
        if isinstance(encoder, Encoder) and needs_fit(encoder):
            says_fitted = isinstance(encoder, SaysFitted)
            returned = encoder.fit(log)
            if returned is not None and returned is not encoder:
                raise ContractError(
                    f"fit of {type(encoder).__name__} returned another object, a {type(returned).__name__}; fit must "
                    "keep what it learns in the encoder itself and return that"
                )
            if not says_fitted:
                with suppress(AttributeError, TypeError):  # frozen, or with slots
                    encoder.fitted = True  # type: ignore[attr-defined]
    return encoder
