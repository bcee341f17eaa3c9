from types import SimpleNamespace

import numpy as np
import pytest
from gymnasium import spaces

from understudy.errors import LogError, SettingError
from understudy.logs import read

RNG = np.random.default_rng(0)


class Episodes:
    """A data set as Minari's are, in memory."""

    def __init__(self, observation_space, action_space, observations, actions, infos=None):
        self.observation_space, self.action_space = observation_space, action_space
        self.total_steps = sum(map(len, actions))
        self._parts = [
            SimpleNamespace(
                observations=seen,
                actions=taken,
                rewards=np.arange(len(taken)) * 1.0,
                terminations=np.arange(len(taken)) == len(taken) - 1 if at == 0 else np.zeros(len(taken), bool),
                truncations=np.arange(len(taken)) == len(taken) - 1 if at else np.zeros(len(taken), bool),
                infos={} if infos is None else infos[at],
            )
            for at, (seen, taken) in enumerate(zip(observations, actions, strict=True))
        ]

    def iterate_episodes(self):
        return iter(self._parts)


ACTIONS = [np.array([5, 6, 5]), np.array([7, 5])]


def test_an_episode_has_one_observation_more_than_steps():
    seen = [np.array([3, 1, 4, 1]), np.array([5, 9, 2])]
    log = read(Episodes(spaces.Discrete(10), spaces.Discrete(3, start=5), seen, ACTIONS))
    assert log.observation.tolist() == [3, 1, 4, 5, 9]
    assert log.next_observation.tolist() == [1, 4, 1, 9, 2]
    assert log.action.tolist() == [0, 1, 0, 2, 0]
    assert log.terminated.tolist() == [False, False, True, False, False]
    assert log.truncated.tolist() == [False, False, False, False, True]
    assert log.episode.tolist() == [0, 0, 0, 1, 1]
    assert (log.spec.n_actions, log.propensity) == (3, None)


def test_arrays_keep_their_shape():
    seen = [RNG.normal(size=(4, 2, 3)).astype(np.float32), RNG.normal(size=(3, 2, 3)).astype(np.float32)]
    log = read(Episodes(spaces.Box(-9, 9, (2, 3)), spaces.Discrete(3, start=5), seen, ACTIONS), format="minari")
    np.testing.assert_array_equal(log.next_observation, np.concatenate([seen[0][1:], seen[1][1:]]))


def test_dictionaries_have_a_column_for_each_entry():
    space = spaces.Dict({"direction": spaces.Discrete(4), "image": spaces.Box(0, 9, (2,), int), "task": spaces.Text(9)})
    seen = [
        {"direction": np.arange(4), "image": RNG.integers(9, size=(4, 2)), "task": ["go"] * 4},
        {"direction": np.arange(3), "image": RNG.integers(9, size=(3, 2)), "task": ["stop"] * 3},
    ]
    log = read(Episodes(space, spaces.Discrete(3, start=5), seen, ACTIONS))
    assert log.spec.features == ("direction", "image.0", "image.1", "task")
    assert log.observation[:, 0].tolist() == [0, 1, 2, 0, 1]
    assert log.next_observation[:, 0].tolist() == [1, 2, 3, 1, 2]
    assert log.spec.decode(log.next_observation)["task"].to_pylist() == ["go", "go", "go", "stop", "stop"]


@pytest.mark.parametrize(
    ("space", "message"),
    [
        (spaces.Box(-1, 1, (2,)), "numbers on a line .*bin them"),
        (spaces.MultiDiscrete([2, 3]), "several at once .*a row for each position"),
    ],
)
def test_other_actions_are_refused_with_what_could_be_done(space, message):
    with pytest.raises(LogError, match=message):
        read(Episodes(spaces.Discrete(10), space, [np.arange(4), np.arange(3)], ACTIONS))


def test_an_episode_that_lacks_an_observation_is_refused():
    with pytest.raises(LogError, match="episode 1 has 2 rewards and 2 observations, not one more"):
        read(Episodes(spaces.Discrete(10), spaces.Discrete(3, start=5), [np.arange(4), np.arange(2)], ACTIONS))
    with pytest.raises(LogError, match="has no steps"):
        read(Episodes(spaces.Discrete(10), spaces.Discrete(3), [], []))


def test_a_data_set_that_raises_as_it_is_read_is_refused_in_a_sentence(monkeypatch):
    class Damaged(Episodes):
        def iterate_episodes(self):
            raise RuntimeError("Unable to synchronously open object (bad heap free list)")

    with pytest.raises(LogError, match=r"the data set cannot be read \(Unable to .*\); get it again"):
        read(Damaged(spaces.Discrete(10), spaces.Discrete(3), [np.arange(4)], [np.arange(3)]))


def test_a_damaged_data_set_is_refused_whatever_minari_raises(monkeypatch, tmp_path):
    minari = pytest.importorskip("minari", reason='needs the extra: pip install ".[minari]"')

    def load_dataset(*_, **__):
        raise TypeError("unhashable type: 'list'")

    monkeypatch.setattr(minari, "load_dataset", load_dataset)
    with pytest.raises(LogError, match="there is no Minari data set 'shop/clicks-v0' that can be read here"):
        read("shop/clicks-v0", format="minari")


def test_an_id_that_is_not_here_is_told(monkeypatch, tmp_path):
    pytest.importorskip("minari", reason='needs the extra: pip install ".[minari]"')
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    with pytest.raises(LogError, match="there is no Minari data set 'shop/clicks-v0' that can be read here"):
        read("shop/clicks-v0", format="minari")


def test_without_minari_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "minari", None)
    monkeypatch.setitem(__import__("sys").modules, "h5py", None)
    with pytest.raises(ModuleNotFoundError, match=r'^Minari needs h5py: pip install "h5py>=3.10" "minari'):
        read("shop/clicks-v0", format="minari")
    with pytest.raises(SettingError, match="format='minari' is about files"):
        read({"observation": [1]}, format="minari")
