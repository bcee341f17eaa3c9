from dataclasses import replace

import numpy as np
import pytest

import understudy as us
from understudy.logs.fingerprints import content_of, fingerprint_of

COLUMNS = {
    "segment": ["new", "old", "new", "old"] * 5, "device": ["phone", "desk", "desk", "phone"] * 5,
    "mail": ["a", "b", "b", "a"] * 5, "click": [0, 1, 1, 0] * 5, "prob": [0.5, 0.25, 0.75, 0.5] * 5,
}  # fmt: skip


def read(**given):
    given = {"observation": ["segment", "device"]} | given
    return us.read(COLUMNS, action="mail", reward="click", propensity="prob", ends="every-row", **given)


def test_the_same_rows_have_one_content_however_observations_are_coded():
    codes, one_hot, fewer = read(), read(coding="one-hot"), read(observation="device")
    assert len({log.fingerprint for log in (codes, one_hot, fewer)}) == 3
    assert codes.content == one_hot.content == fewer.content == content_of(codes)
    assert codes.fingerprint == fingerprint_of(codes)


@pytest.mark.parametrize("name", ["action", "reward", "terminated", "episode", "propensity"])
def test_other_rows_have_another_content(name):
    log = read()
    column = np.array(log.columns[name])
    column[[0, 1]] = column[[1, 0]] if name != "episode" else [-2, -1]
    if name == "terminated":
        column[0] = False
    changed = replace(log, **{name: column})
    assert changed.content != log.content
    assert log.select(np.arange(19)).content != log.content
    assert replace(log, spec=replace(log.spec, actions=("a", "c"))).content != log.content


def test_a_log_on_disk_remembers_it(tmp_path, monkeypatch):
    us.write(read(), tmp_path / "log.parquet")
    log = us.read(tmp_path / "log.parquet", on_disk=tmp_path / "disk")
    assert log.content == read().content
    assert (tmp_path / "disk" / "content.json").exists()
    monkeypatch.setattr("understudy.logs.log.content_of", lambda log: pytest.fail("made again"))
    assert us.read(tmp_path / "log.parquet", on_disk=tmp_path / "disk").content == log.content
