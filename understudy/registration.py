"""The names of our environments in Gymnasium."""

from gymnasium.envs import registration

NAMES = ("Grid", "NoisyGrid", "CounterGrid", "ContinuousGrid", "HistoryGrid")


def register() -> None:
    """Register `understudy/Grid-v0` and the others with Gymnasium; the classes are imported when one is made."""
    for name in NAMES:
        registration.register(id=f"understudy/{name}-v0", entry_point=f"understudy.envs:{name}")
