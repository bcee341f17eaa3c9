import json
from dataclasses import replace

import numpy as np
import pytest

from understudy.errors import LogError
from understudy.logs import ActionFeatures, Log, read, write

RNG = np.random.default_rng(0)
PROPENSITY = RNG.dirichlet(np.ones(3), 40)
ROWS = {
    "observation": RNG.normal(size=(40, 2)), "action": RNG.integers(3, size=40), "reward": RNG.normal(size=40),
    "actions": ["left", "right", "it's <b>"], "ends": "every-row",
}  # fmt: skip


@pytest.mark.parametrize("ending", [".dsjson", ".dsjson.gz", ".dsjson.zst"])
@pytest.mark.parametrize("propensity", [PROPENSITY, PROPENSITY[:, 0]], ids=["all", "chosen"])
def test_a_log_comes_back(tmp_path, ending, propensity):
    log = Log.from_columns(**ROWS, propensity=propensity)
    write(log, tmp_path / f"log{ending}")
    assert read(tmp_path / f"log{ending}").fingerprint == log.fingerprint


def test_single_integers_and_arrays_come_back(tmp_path):
    for observation in (np.arange(40) % 7, RNG.integers(5, size=(40, 2, 2))):
        log = Log.from_columns(**ROWS | {"observation": observation}, propensity=PROPENSITY)
        write(log, tmp_path / "log.dsjson")
        assert (
            read(tmp_path / "log.dsjson").observation.reshape(40, -1).tolist() == observation.reshape(40, -1).tolist()
        )


def test_names_and_features_of_actions_come_back(tmp_path):
    (tmp_path / "log.vw").write_text("shared | x:1 y:2\n0:1:0.5 | price:3\n| price:4\n")
    log = read(tmp_path / "log.vw")
    write(log, tmp_path / "log.dsjson")
    back = read(tmp_path / "log.dsjson")
    assert back.spec == log.spec
    assert back.spec.features == ("x", "y")


def test_a_line_is_as_vowpal_wabbit_has_it(tmp_path):
    log = Log.from_columns(observation=[5], action=[1], reward=[2.0], propensity=[[0.25, 0.75]], ends="every-row")
    write(log, tmp_path / "log.dsjson")
    assert json.loads((tmp_path / "log.dsjson").read_text()) == {
        "_label_cost": -2.0, "_label_probability": 0.75, "_label_Action": 2, "_labelIndex": 1, "Version": "1",
        "EventId": "0", "a": [2, 1], "p": [0.75, 0.25],
        "c": {"observation": 5, "_multi": [{"action": "0"}, {"action": "1"}]},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"propensity": None}, "the log has no propensities"),
        (
            {"ends": "terminated", "episode": [0, 1, 1, *range(2, 39)]},
            "the episode that begins in row 1 has several steps",
        ),
        ({"reward": [0.0] * 39 + [np.nan]}, "row 39 holds NaN or infinity"),
    ],
)
def test_what_dsjson_cannot_hold_is_refused_and_nothing_is_written(tmp_path, columns, message):
    log = Log.from_columns(**ROWS | {"propensity": PROPENSITY} | columns)
    with pytest.raises(LogError, match=message):
        write(log, tmp_path / "log.dsjson")
    assert list(tmp_path.iterdir()) == []


def test_labels_that_features_do_not_tell_are_written_beside_them(tmp_path):
    log = Log.from_columns(**ROWS, propensity=PROPENSITY)
    features = ActionFeatures.of([{"size": "L", "id": name} for name in "abc"])
    log = replace(log, spec=replace(log.spec, action_features=features))
    write(log, tmp_path / "log.dsjson")
    back = read(tmp_path / "log.dsjson")
    assert back.fingerprint == log.fingerprint
    assert back.spec.action_features.column("id") == ("a", "b", "c")


def test_text_is_written_as_text(tmp_path):
    (tmp_path / "log.vw").write_text(
        "1:0:0.5 | page=home age:31\n2:-1:0.5 | page=cart age:4\n1:-1:0.5 | page=home age:4\n"
    )
    log = read(tmp_path / "log.vw")
    write(log, tmp_path / "log.dsjson")
    lines = (tmp_path / "log.dsjson").read_text().splitlines()
    assert [json.loads(line)["c"]["page"] for line in lines] == ["home", "cart", "home"]
    assert read(tmp_path / "log.dsjson").fingerprint == log.fingerprint
