import pyarrow as pa
import pytest

from understudy.errors import LogError
from understudy.logs import loading, read
from understudy.logs.action_features import ActionFeatures
from understudy.logs.formats.loaded import LoadedTable

TABLE = pa.table({"seen": [3, 4, 3], "other": [7, 8, 9], "did": [1, 0, 1], "got": [0.5, 0.0, 1.0], "visit": [0, 0, 1]})


@pytest.fixture
def loaded(monkeypatch, tmp_path):
    """A file in a format that tells all about it."""
    columns = {"observation": "seen", "action": "did", "reward": "got"}
    features = ActionFeatures.of([{"price": price} for price in (1, 2, 3)])
    found = LoadedTable(
        TABLE,
        columns,
        order_by="other",
        ends="every-row",
        n_actions=3,
        action_features=features,
        notes=("form: a note",),
    )
    monkeypatch.setattr(loading, "load_file", lambda *arguments, **columns: found)
    return tmp_path / "log.vw"


def test_what_a_format_tells_is_used(loaded):
    log = read(loaded)
    assert log.observation.tolist() == [3, 4, 3]
    assert (log.n_episodes, log.spec.n_actions, log.spec.features) == (3, 3, ("seen",))
    assert log.spec.action_features.column("price") == (1, 2, 3)
    assert log.notes[0] == "form: a note"


def test_what_the_user_says_comes_first(loaded):
    assert read(loaded, observation="other").observation.tolist() == [7, 8, 9]
    assert read(loaded, episode="visit", ends="terminated").n_episodes == 2
    assert read(loaded, order_by="got").observation.tolist() == [4, 3, 3]
    for other in ({"n_actions": 5}, {"action": "visit"}, {"actions": ["a", "b"]}):
        log = read(loaded, **other)
        assert log.spec.action_features is None
        assert log.spec.n_actions == {"n_actions": 5}.get(next(iter(other)), 2)


def test_a_column_that_is_not_there_is_named_with_the_file(loaded):
    with pytest.raises(LogError, match=r"log\.vw: there is no column nothing"):
        read(loaded, observation="nothing")
