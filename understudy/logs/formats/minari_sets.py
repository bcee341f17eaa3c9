"""Minari's data sets of episodes, by their id or as objects."""

from typing import Any, Protocol, runtime_checkable

import numpy as np

from understudy.errors import LogError
from understudy.extras import require
from understudy.logs.action_kinds import CONTINUOUS, SLATES
from understudy.logs.arrow_columns import to_arrow
from understudy.logs.formats.loaded import LoadedTable
from understudy.progress import progress_bar
from understudy.storage import error_reason

PROPENSITY = "propensity"
"""The name under which propensities are in the infos of data sets that we wrote."""

PER_STEP = ("action", "reward", "terminated", "truncated", "episode")
LARGE = 1_000_000  # steps from which on progress is shown unless told otherwise


@runtime_checkable
class EpisodeSource(Protocol):
    """What is used of a Minari data set."""

    @property
    def observation_space(self) -> Any: ...

    @property
    def action_space(self) -> Any: ...

    @property
    def total_steps(self) -> Any: ...

    def iterate_episodes(self) -> Any: ...


def load_minari_id(name: str) -> Any:
    """Return the local data set of this id. Nothing is downloaded."""
    require("Minari", "minari")
    import minari

    try:
        return minari.load_dataset(name, download=False)
    except Exception as error:  # a damaged one can raise anything
        raise LogError(
            f"there is no Minari data set {name!r} that can be read here ({error_reason(error)}); `minari list local` "
            "shows those that are here, and `minari download` gets others",
            "file",
        ) from None


def load_minari(source: EpisodeSource, progress: bool | None = None) -> LoadedTable:
    """Return the steps of a data set as a table. Raise `LogError` where it cannot be read.

    An episode has one observation more than steps, so every step has its `next_observation`, the last one too.
    Observations that are dictionaries have a column for each entry. Minari has no propensities: only data sets that
    `write` made of a log with propensities have them, among their infos.
    """
    try:
        return _table_of(source, progress)
    except LogError:
        raise
    except Exception as error:  # files are read as episodes are asked for, and damaged ones can raise anything
        raise LogError(f"the data set cannot be read ({error_reason(error)}); get it again", "file") from error


def _table_of(source: EpisodeSource, progress: bool | None) -> LoadedTable:
    first_action, n_actions = _actions(source.action_space)
    total = int(source.total_steps)
    before: dict[str, list[np.ndarray]] = {}
    after: dict[str, list[np.ndarray]] = {}
    parts: dict[str, list[np.ndarray]] = {
        name: [] for name in ("action", "reward", "terminated", "truncated", "episode")
    }
    propensities: list[np.ndarray] | None = []
    done = 0
    with progress_bar(
        "reading Minari's steps", total, False if progress is None and total < LARGE else progress
    ) as report:
        for number, episode in enumerate(source.iterate_episodes()):
            length = _length(episode, number)
            for name, array in _flat(source.observation_space, episode.observations, number).items():
                if len(array) != length + 1:
                    raise LogError(
                        f"episode {number} has {length} rewards and {len(array)} observations, not one more; get the "
                        "data set again"
                    )
                before.setdefault(name, []).append(array[:-1])
                after.setdefault(name, []).append(array[1:])
            parts["action"].append(np.asarray(episode.actions).reshape(length) - first_action)
            parts["reward"].append(np.asarray(episode.rewards))
            parts["terminated"].append(np.asarray(episode.terminations, bool))
            parts["truncated"].append(np.asarray(episode.truncations, bool))
            parts["episode"].append(np.full(length, number))
            propensities = _with_propensity(propensities, episode.infos, length)
            done += length
            report(done)
    if not done:
        raise LogError("the data set has no steps; record some")
    columns = {name: np.concatenate(arrays) for name, arrays in parts.items()}
    names: dict[str, Any] = {}
    for role, found in (("observation", before), ("next_observation", after)):
        alone = list(found) == [""]
        columns |= {_column(role, name): np.concatenate(arrays) for name, arrays in found.items()}
        names[role] = role if alone else [_column(role, name) for name in found]
    if propensities:
        columns["propensity"] = np.concatenate(propensities)
    import pyarrow as pa

    table = pa.table({name: to_arrow(column) for name, column in columns.items()})
    return LoadedTable(table, names, n_actions=n_actions)


def _length(episode: Any, number: int) -> int:
    """Return the number of steps of an episode. Raise `LogError` where its columns differ in it."""
    columns = {
        "rewards": episode.rewards, "actions": episode.actions, "terminations": episode.terminations,
        "truncations": episode.truncations,
    }  # fmt: skip
    if len(set(map(len, columns.values()))) > 1:
        counts = ", ".join(f"{name} {len(column)}" for name, column in columns.items())
        raise LogError(
            f"episode {number} has columns of different lengths: {counts}; get the data set again", "lengths"
        )
    return len(episode.rewards)


def _column(role: str, name: str) -> str:
    return role if not name else name if role == "observation" else f"next {name}"


def _actions(space: Any) -> tuple[int, int]:
    """Return the first action and the number of actions. Raise `LogError` unless the space is `Discrete`."""
    from gymnasium import spaces

    if isinstance(space, spaces.Discrete):
        return int(space.start), int(space.n)
    if isinstance(space, spaces.Box):
        raise LogError(f"the actions are {space}, which are numbers on a line (continuous), {CONTINUOUS}")
    raise LogError(f"the actions are {space}, which are several at once (a slate), {SLATES}")


def _flat(space: Any, values: Any, number: int, prefix: str = "") -> dict[str, np.ndarray]:
    """Return observations as arrays by name: one without a name, or one for each number of a dictionary's entries."""
    from gymnasium import spaces

    if isinstance(space, spaces.Dict | spaces.Tuple):
        inner = space.spaces.items() if isinstance(space, spaces.Dict) else enumerate(space.spaces)
        flat: dict[str, np.ndarray] = {}
        for key, part in inner:
            flat |= _flat(part, values[key], number, f"{prefix}.{key}" if prefix else str(key))
        return flat
    if isinstance(space, spaces.Text):
        return {prefix: np.array([str(value) for value in values], object)}
    array = np.asarray(values)
    if array.dtype.kind not in "biufU":
        raise LogError(
            f"the observations of episode {number} are {array.dtype}, not numbers or text; convert them first"
        )
    if not prefix or array.ndim == 1:
        return {prefix: array}
    rows = array.reshape(len(array), -1)
    return {f"{prefix}.{at}": rows[:, at] for at in range(rows.shape[1])}


def _with_propensity(found: list[np.ndarray] | None, infos: Any, length: int) -> list[np.ndarray] | None:
    """Return the propensities with those of another episode; None as soon as one episode has none."""
    values = infos.get(PROPENSITY) if isinstance(infos, dict) else None
    if found is None or values is None or len(values) < length:
        return None
    found.append(np.asarray(values)[:length])
    return found
