"""When an encoder is fitted: one rule for simulators, learners and audits."""

import threading
from contextlib import suppress
from typing import TypeGuard, TypeVar, cast

from understudy.contracts.encoding import Encoder, Encodes, SaysFitted
from understudy.contracts.offering import offers
from understudy.errors import ContractError
from understudy.logs import Log

AnyEncoder = TypeVar("AnyEncoder", bound=Encodes)

_one_by_one = threading.RLock()
"""Held while an encoder is fitted: runs in threads may share one, and only the first should fit it."""


def needs_fit(encoder: Encodes) -> TypeGuard[Encoder]:
    """True if an encoder has a `fit` and does not say that it is fitted."""
    return not _fitted(encoder) and offers(encoder, Encoder)


def ensure_fitted(encoder: AnyEncoder, log: Log) -> AnyEncoder:
    """Fit an encoder on this log if it needs it, and return it.

    An encoder without `fitted` is given `fitted = True` afterwards. Where it takes no attributes (frozen, or with
    slots), each call fits it again.
    """
    with _one_by_one:
        if needs_fit(encoder):
            says_fitted = _fitted(encoder) is not None
            returned = encoder.fit(log)
            if returned is not None and returned is not encoder:
                raise ContractError(
                    f"fit of {type(encoder).__name__} returned another object, a {type(returned).__name__}; fit must "
                    "keep what it learns in the encoder itself and return that"
                )
            if not says_fitted:
                with suppress(AttributeError, TypeError):  # frozen, or with slots
                    cast(SaysFitted, encoder).fitted = True
    return encoder


def _fitted(encoder: Encodes) -> bool | None:
    """Return what an encoder says of being fitted; None where it does not say."""
    return bool(encoder.fitted) if offers(encoder, SaysFitted) else None
