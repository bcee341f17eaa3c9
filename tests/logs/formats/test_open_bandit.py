import numpy as np
import pyarrow.csv
import pytest

from understudy.errors import LogError
from understudy.logs import Log, read, write

HEADER = ",timestamp,item_id,position,click,propensity_score,user_feature_0,user_feature_1"
AFFINITIES = "user-item_affinity_0,user-item_affinity_1,user-item_affinity_2"
ROWS = """0,2019-11-24 00:03:36.705207+00:00,2,3,0,0.3333333333333333,cef3390ed299,03a5648a7683,0.0,1.0,0.0
1,2019-11-24 00:03:13.442536+00:00,0,1,1,0.3333333333333333,cef3390ed299,9bde591ffaab,0.0,0.0,2.0
2,2019-11-24 00:04:00.000000+00:00,0,2,0,0.3333333333333333,81ce123cbb50,03a5648a7683,0.0,0.0,0.0
"""
ITEMS = """,item_id,item_feature_0,item_feature_1
0,0,-0.67,ceca20033d7d
1,1,-0.72,270de57201b8
2,2,0.74,ceca20033d7d
"""


@pytest.fixture
def clicks(tmp_path):
    (tmp_path / "men.csv").write_text(f"{HEADER},{AFFINITIES}\n{ROWS}")
    (tmp_path / "item_context.csv").write_text(ITEMS)
    return tmp_path / "men.csv"


def test_it_is_known_by_its_columns(clicks):
    log = read(clicks)
    assert log.fingerprint == read(clicks, format="open-bandit").fingerprint
    assert log.action.tolist() == [0, 2, 0]
    assert log.reward.tolist() == [1.0, 0.0, 0.0]
    assert np.unique(log.propensity).tolist() == [1 / 3]
    assert log.n_episodes == len(log) == 3
    assert log.spec.n_actions == 3
    assert log.spec.features == ("position", "user_feature_0", "user_feature_1")
    assert log.observation[:, 0].tolist() == [1, 3, 2]
    seen = log.spec.decode(log.observation)
    assert seen["user_feature_0"].to_pylist() == ["cef3390ed299", "cef3390ed299", "81ce123cbb50"]
    assert any(note.startswith("order: rows were sorted by timestamp") for note in log.notes)


def test_one_position_is_a_selection_of_episodes(clicks):
    log = read(clicks)
    assert log.select(log.observation[:, 0] == 1).action.tolist() == [0]


def test_features_of_items_lie_beside_it(clicks):
    features = read(clicks).spec.action_features
    assert features.names == ("item_feature_0", "item_feature_1")
    assert features.column("item_feature_0") == (-0.67, -0.72, 0.74)
    clicks.with_name("item_context.csv").unlink()
    log = read(clicks)
    assert log.spec.action_features is None
    assert log.spec.n_actions == 3  # as many as there are affinities
    assert "no item_context.csv beside the file" in log.notes[0]


def test_items_that_are_not_utf8_are_refused(clicks):
    clicks.with_name("item_context.csv").write_bytes(ITEMS.encode().replace(b"ceca", b"c\x80ca"))
    with pytest.raises(LogError, match=r"item_context\.csv beside the file cannot be read"):
        read(clicks)


def test_affinities_can_be_named(clicks):
    log = read(clicks, format="open-bandit", observation=["position", "user-item_affinity_1", "user-item_affinity_2"])
    assert log.observation.tolist() == [[1, 0, 2], [3, 1, 0], [2, 0, 0]]
    assert log.spec.action_features is not None


def test_a_table_in_memory_is_known_too(clicks, tmp_path):
    assert read(pyarrow.csv.read_csv(clicks)).action.tolist() == [0, 2, 0]
    write(read(clicks), tmp_path / "men.parquet")
    assert read(tmp_path / "men.parquet").spec == read(clicks).spec


def test_a_table_that_names_its_action_is_read_as_it_says(clicks, tmp_path):
    named = tmp_path / "own.csv"
    named.write_text(clicks.read_text().replace("item_id", "action").replace("click", "reward"))
    assert read(named, observation="position", ends="every-row").action.tolist() == [2, 0, 0]
    assert read(clicks, observation="position", action="item_id", reward="click", ends="every-row").propensity is None


def test_what_does_not_belong_is_refused(clicks, tmp_path):
    (tmp_path / "less.csv").write_text(clicks.read_text().replace("position", "place"))
    with pytest.raises(LogError, match="there is no column position, which Open Bandit's tables have"):
        read(tmp_path / "less.csv", format="open-bandit")
    items = clicks.with_name("item_context.csv")
    for text, message in (
        (ITEMS.replace("2,2,", "3,3,"), "does not number its items 0, 1, 2"),
        (ITEMS.rsplit("\n", 2)[0] + "\n", "has 2 items and the table affinities to 3"),
        ("a,b\n1,2\n", "has no item_id or no item_feature_0"),
    ):
        items.write_text(text)
        with pytest.raises(LogError, match=message):
            read(clicks)


def test_a_plain_log_is_not_taken_for_it(tmp_path):
    log = Log.from_columns(observation=np.zeros((2, 1)), action=[0, 1], reward=[0, 1], ends="every-row")
    write(log, tmp_path / "log.csv")
    assert read(tmp_path / "log.csv").notes == ()
