"""Which states are alike: after each action, about the same follows. For runs that go on past the exact horizon."""

from understudy.likeness.auditing import audit
from understudy.likeness.bisimulation import TransitionLikeness, transitions
from understudy.likeness.likeness_audit import LikenessAudit, RadiusAudit
from understudy.likeness.metric import ObservationLikeness, observations
from understudy.likeness.suiting import suited

__all__ = [
    "LikenessAudit",
    "ObservationLikeness",
    "RadiusAudit",
    "TransitionLikeness",
    "audit",
    "observations",
    "suited",
    "transitions",
]
