import numpy as np
import pytest

from understudy.errors import LogError
from understudy.logs import Log, read, write

minari = pytest.importorskip("minari", reason='needs the extra: pip install ".[minari]"')
pytest.importorskip("h5py", reason='needs the extra: pip install ".[minari]"')


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("kind", ["codes", "float32", "images"])
def test_a_log_comes_back(walk, kind):
    columns = walk(episodes=8)
    rng = np.random.default_rng(0)
    pictures = {
        "float32": rng.normal(size=(12, 3)).astype(np.float32),
        "images": rng.integers(256, size=(12, 8, 8, 3)).astype(np.uint8),
    }
    if kind in pictures:
        columns |= {name: pictures[kind][columns[name]] for name in ("observation", "next_observation")}
    log = Log.from_columns(**columns)
    write(log, "ring/walk-v0", format="minari")
    assert read("ring/walk-v0", format="minari").fingerprint == log.fingerprint
    assert read(minari.load_dataset("ring/walk-v0")).fingerprint == log.fingerprint


def test_decisions_of_one_step_come_back():
    log = Log.from_columns(observation=[[1.0], [2.0]], action=[0, 1], reward=[0, 1], ends="every-row")
    write(log, "shop/clicks-v0", format="minari")
    back = read("shop/clicks-v0", format="minari")
    assert back.fingerprint == log.fingerprint
    assert back.propensity is None


def test_a_data_set_is_not_overwritten(clean, folder):
    log = Log.from_columns(**clean)
    write(log, "ring/walk-v0", format="minari")
    with pytest.raises(LogError, match="there is a Minari data set 'ring/walk-v0' already"):
        write(log, "ring/walk-v0", format="minari")
    assert len(read("ring/walk-v0", format="minari")) == len(log)


def test_nothing_is_left_where_it_fails(clean, folder):
    with pytest.raises(LogError, match="the Minari data set 'no good!' cannot be made"):
        write(Log.from_columns(**clean), "no good!", format="minari")
    assert not (folder / "no good!").exists()


def test_observations_that_are_not_one_sequence_are_refused(clean):
    clean["next_observation"] = clean["next_observation"].copy()
    clean["next_observation"][3] += 100
    with pytest.raises(LogError, match="next_observation in row 3 is not the observation of row 4"):
        write(Log.from_columns(**clean), "ring/walk-v0", format="minari")
