"""Our environments' names in Gymnasium."""

from gymnasium.envs import registration

NAMES = ("Grid", "NoisyGrid", "CounterGrid", "ContinuousGrid", "HistoryGrid")


def register() -> None:
    """Make `gymnasium.make("understudy/Grid-v0")` and the others known; the classes are loaded when one is made."""
    for name in NAMES:
        registration.register(id=f"understudy/{name}-v0", entry_point=f"understudy.envs:{name}")
