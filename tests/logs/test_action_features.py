import json

import pytest

from understudy.errors import LogError
from understudy.logs import Log, concatenate, read, write
from understudy.logs.action_features import ActionFeatures, are_action_features

FEATURES = ActionFeatures.of([{"price": 3, "color": "red"}, {"price": 5.5, "color": "blue"}])


def log_with(features):
    from dataclasses import replace

    log = Log.from_columns(observation=[0, 1, 0], action=[0, 1, 1], reward=[0, 1, 0], ends="every-row")
    return replace(log, spec=replace(log.spec, action_features=features))


def test_features_come_back_from_json():
    assert ActionFeatures.from_json(json.loads(json.dumps(FEATURES.to_json()))) == FEATURES
    assert FEATURES.column("color") == ("red", "blue")


def test_features_are_a_table():
    assert FEATURES.to_frame().to_pylist() == [
        {"action": 0, "price": 3.0, "color": "red"},
        {"action": 1, "price": 5.5, "color": "blue"},
    ]


def test_a_feature_is_text_or_a_number():
    with pytest.raises(LogError, match="the feature x of actions is text for some"):
        ActionFeatures.of([{"x": 1}, {"x": "one"}])


def test_features_are_written_with_the_log_and_leave_its_fingerprint(tmp_path):
    log = log_with(FEATURES)
    write(log, tmp_path / "log.parquet")
    back = read(tmp_path / "log.parquet")
    assert back.spec.action_features == FEATURES
    assert back.fingerprint == log.fingerprint == log_with(None).fingerprint


def test_logs_that_are_joined_keep_features_they_agree_on():
    assert concatenate([log_with(FEATURES), log_with(FEATURES)]).spec.action_features == FEATURES
    assert concatenate([log_with(FEATURES), log_with(None)]).spec.action_features is None


@pytest.mark.parametrize(
    "stored", [[], {}, {"x": 1}, {"x": []}, {"x": [1], "y": [1, 2]}, {"x": [1, "a"]}, {"x": [None]}, {"x": [[1]]}]
)
def test_forged_features_are_recognized(stored):
    assert not are_action_features(stored)
    assert are_action_features({"x": [1, 2.5], "y": ["a", ""]})
