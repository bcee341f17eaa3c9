"""Which states are alike: after each action, about the same follows. For runs that go on past the exact horizon."""

from understudy.likeness.auditing import audit, audit_of_states
from understudy.likeness.bisimulation import TransitionLikeness, transitions
from understudy.likeness.described import DescribedLikeness, forward
from understudy.likeness.held_out import States
from understudy.likeness.likeness_audit import LikenessAudit, RadiusAudit
from understudy.likeness.metric import ObservationLikeness, observations
from understudy.likeness.own import FunctionLikeness, function
from understudy.likeness.suiting import suited

__all__ = [
    "DescribedLikeness", "FunctionLikeness", "LikenessAudit", "ObservationLikeness", "RadiusAudit", "States",
    "TransitionLikeness", "audit", "audit_of_states", "forward", "function", "observations", "suited", "transitions",
]  # fmt: skip
