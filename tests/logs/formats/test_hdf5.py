import numpy as np
import pytest

from understudy.errors import LogError
from understudy.logs import compression, read
from understudy.logs.formats import hdf5

h5py = pytest.importorskip("h5py", reason='needs the extra: pip install ".[hdf5]"')

RNG = np.random.default_rng(0)
ARRAYS = {
    "observations": RNG.normal(size=(6, 2)).astype(np.float32),
    "actions": np.array([0, 1, 1, 0, 2, 1]),
    "rewards": np.arange(6.0),
    "terminals": np.array([0, 0, 1, 0, 0, 0], bool),
    "timeouts": np.array([0, 0, 0, 0, 0, 1], bool),
    "next_observations": RNG.normal(size=(6, 2)).astype(np.float32),
}


def written(tmp_path, arrays, name="log.hdf5", **options):
    with h5py.File(tmp_path / name, "w") as file:
        for title, array in arrays.items():
            file.create_dataset(title, data=array, **options)
    return tmp_path / name


@pytest.mark.parametrize("name", ["log.hdf5", "log.h5", "log"])
def test_arrays_in_the_form_of_d4rl_are_a_log(tmp_path, name):
    log = read(written(tmp_path, ARRAYS, name, compression="gzip"))
    np.testing.assert_array_equal(log.observation, ARRAYS["observations"])
    np.testing.assert_array_equal(log.next_observation, ARRAYS["next_observations"])
    assert log.action.tolist() == ARRAYS["actions"].tolist()
    assert log.reward.tolist() == ARRAYS["rewards"].tolist()
    assert log.terminated.tolist() == ARRAYS["terminals"].tolist()
    assert log.truncated.tolist() == ARRAYS["timeouts"].tolist()
    assert (log.n_episodes, log.propensity) == (2, None)


def test_actions_may_be_a_column_of_whole_floats(tmp_path):
    arrays = ARRAYS | {"actions": ARRAYS["actions"].astype(np.float32)[:, None]}
    assert read(written(tmp_path, arrays)).action.tolist() == ARRAYS["actions"].tolist()


def test_further_arrays_can_be_named(tmp_path):
    arrays = ARRAYS | {"infos/propensity": np.full((6, 3), 1 / 3)}
    log = read(written(tmp_path, arrays), propensity="infos/propensity")
    assert log.propensity.shape == (6, 3)
    with pytest.raises(LogError, match="there is no column infos/none"):
        read(written(tmp_path, arrays), propensity="infos/none")


def test_continuous_actions_are_refused_with_what_could_be_done(tmp_path):
    for actions in (RNG.normal(size=(6, 3)), RNG.normal(size=(40,))):
        arrays = {name: np.resize(array, (len(actions), *array.shape[1:])) for name, array in ARRAYS.items()}
        with pytest.raises(LogError, match=r"actions is .* in row 0, which is a number on a line .*bin them"):
            read(written(tmp_path, arrays | {"actions": actions}))


def test_several_actions_at_once_are_refused(tmp_path):
    with pytest.raises(LogError, match="several at once"):
        read(written(tmp_path, ARRAYS | {"actions": np.ones((6, 3), int)}))


def test_missing_arrays_and_lengths_that_differ_are_named(tmp_path):
    with pytest.raises(LogError, match=r"there is no array actions, rewards.*the file has observations"):
        read(written(tmp_path, {"observations": ARRAYS["observations"]}))
    with pytest.raises(LogError, match="rewards has 5 rows and actions 6"):
        read(written(tmp_path, ARRAYS | {"rewards": np.zeros(5)}))


def test_nothing_outside_the_file_is_read(tmp_path):
    path, other = written(tmp_path, ARRAYS), written(tmp_path, ARRAYS, "other.hdf5")
    for link in (h5py.ExternalLink(str(other), "rewards"), h5py.SoftLink("/terminals")):
        with h5py.File(path, "a") as file:
            del file["rewards"]
            file["rewards"] = link
        with pytest.raises(LogError, match="rewards is a link, which could lead to any file"):
            read(path)
    layout = h5py.VirtualLayout(shape=(6,), dtype="f8")
    layout[:] = h5py.VirtualSource(str(other), "rewards", shape=(6,))
    with h5py.File(path, "a") as file:
        del file["rewards"]
        file.create_virtual_dataset("rewards", layout)
    with pytest.raises(LogError, match="rewards is stored in other files"):
        read(path)


def test_objects_and_text_are_not_read(tmp_path):
    path = written(tmp_path, {name: array for name, array in ARRAYS.items() if name != "rewards"})
    with h5py.File(path, "a") as file:
        file.create_dataset("rewards", data=[b"cos\nsystem\n"] * 6, dtype=h5py.string_dtype())
    with pytest.raises(LogError, match="rewards is not an array of numbers but of object"):
        read(path)


def test_damaged_files_are_refused_in_a_sentence(tmp_path):
    content = written(tmp_path, ARRAYS).read_bytes()
    for broken in (content[: len(content) // 2], content[:100], content[:8] + b"x" * 500):
        (tmp_path / "broken.hdf5").write_bytes(broken)
        with pytest.raises(LogError) as refused:
            read(tmp_path / "broken.hdf5")
        assert "broken.hdf5" in str(refused.value)
        assert "\n" not in str(refused.value)


def test_a_type_that_no_array_can_have_is_refused(tmp_path, monkeypatch):
    def damaged(*_):
        raise ValueError("Insufficient precision in available types to represent (63, 52, 11, 0, 52)")  # as h5py does

    monkeypatch.setattr(hdf5, "_holds", damaged)
    with pytest.raises(LogError, match=r"the file cannot be read \(Insufficient precision .*\); get it again"):
        read(written(tmp_path, ARRAYS))


def test_an_array_that_is_far_larger_than_its_file_is_refused(tmp_path):
    path = written(tmp_path, {name: array for name, array in ARRAYS.items() if name != "observations"})
    with h5py.File(path, "a") as file:
        file.create_dataset("observations", shape=(2**40,), dtype="f8", chunks=(2**10,))
    with pytest.raises(LogError, match="observations would have 8,796,093,022,208 bytes"):
        read(path)
    assert hdf5.FREE == compression.FREE


def test_it_is_read_in_pieces(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(hdf5, "PIECE", 16)
    log = read(written(tmp_path, ARRAYS), progress=True)
    np.testing.assert_array_equal(log.observation, ARRAYS["observations"])
    assert "reading observations" in capsys.readouterr().err
