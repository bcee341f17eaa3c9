"""Which states are alike: after each action, about the same follows. For runs that go on past the exact horizon."""

from understudy.likeness.metric import ObservationLikeness, observations

__all__ = ["ObservationLikeness", "observations"]
