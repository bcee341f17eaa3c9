"""Logs written as Minari data sets."""

import shutil
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.errors import LogError
from understudy.extras import require
from understudy.logs.arrays import first_true
from understudy.logs.formats.minari_sets import PROPENSITY
from understudy.storage import error_reason

if TYPE_CHECKING:
    from understudy.logs.log import Log


def write_minari(log: "Log", name: str) -> None:
    """Make a Minari data set of this id, where Minari keeps its data sets (`MINARI_DATASETS_PATH`).

    Propensities, which Minari has no place for, are put among the infos. Raise `LogError` where a next observation is
    not the observation of the next row: an episode of Minari's is one sequence of observations.
    """
    require("Minari", "minari")
    import minari
    from gymnasium import spaces
    from minari.data_collector.episode_buffer import EpisodeBuffer
    from minari.storage.local import get_dataset_path

    _refuse_gaps(log)
    folder = Path(get_dataset_path(name))
    if folder.exists():
        raise LogError(f"there is a Minari data set {name!r} already; delete it, or give another id", "file")
    buffers = [EpisodeBuffer(**_episode(log, at)) for at in range(log.n_episodes)]
    try:
        with warnings.catch_warnings():  # about an author and an environment, which a log does not know
            warnings.simplefilter("ignore")
            minari.create_dataset_from_buffers(
                name,
                buffers,
                observation_space=_observation_space(log),
                action_space=spaces.Discrete(log.spec.n_actions),
                description="a log, written by Understudy",
                jpeg_encoding=False,  # which would change observations that look like images
            )
    except BaseException as error:
        shutil.rmtree(folder, ignore_errors=True)  # half of a data set
        if not isinstance(error, ValueError | OSError | AssertionError):
            raise
        raise LogError(
            f"the Minari data set {name!r} cannot be made ({error_reason(error)}); check its id, which is like "
            "shop/clicks-v0, and the space on the disk",
            "file",
        ) from None


def _refuse_gaps(log: "Log") -> None:
    """Raise `LogError` for the first row whose next observation is not the observation of the next row."""
    inner = np.flatnonzero(log.episode[1:] == log.episode[:-1])
    differs = log.next_observation[inner] != log.observation[inner + 1]
    differs = differs.any(axis=tuple(range(1, differs.ndim)))
    if differs.any():
        row = int(inner[first_true(differs)])
        raise LogError(
            f"next_observation in row {row} is not the observation of row {row + 1}, and Minari has no place for both; "
            "write Parquet instead"
        )


def _observation_space(log: "Log") -> Any:
    from gymnasium import spaces

    if log.spec.n_observations is not None:
        return spaces.Discrete(log.spec.n_observations)
    both = np.stack([log.observation.min(axis=0), log.next_observation.min(axis=0)])
    most = np.stack([log.observation.max(axis=0), log.next_observation.max(axis=0)])
    return spaces.Box(both.min(axis=0), most.max(axis=0), log.observation.shape[1:], log.observation.dtype.type)


def _episode(log: "Log", at: int) -> dict[str, Any]:
    """Return an episode as Minari takes it: with one observation more than steps."""
    rows = slice(log.starts[at], log.starts[at + 1])
    infos = {}
    if log.propensity is not None:
        # As long as the observations, of which the last has no action after it.
        infos = {PROPENSITY: np.concatenate([log.propensity[rows], log.propensity[rows][-1:]])}
    return {
        "observations": np.concatenate([log.observation[rows], log.next_observation[rows][-1:]]),
        "actions": log.action[rows].astype(np.int64),
        "rewards": log.reward[rows],
        "terminations": log.terminated[rows],
        "truncations": log.truncated[rows],
        "infos": infos,
    }
