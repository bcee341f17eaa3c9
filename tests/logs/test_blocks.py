from dataclasses import replace

import numpy as np
import pytest

import understudy as us
from understudy.logs import Log, blocks, rules
from understudy.logs.blocks import FoundRows, any_entry, distinct_values, found_rows, one_later, slices, width_of


@pytest.mark.parametrize(("n", "width"), [(0, 1), (1, 1), (20, 1), (21, 3), (5, 100)])
def test_slices_are_all_rows_once_in_order(monkeypatch, n, width):
    monkeypatch.setattr(blocks, "BLOCK", 10)
    rows = [row for part in slices(n, width) for row in range(part.start, part.stop)]
    assert rows == list(range(n))
    assert all(part.stop - part.start <= max(1, 10 // width) for part in slices(n, width))


def test_the_first_rows_and_the_number_of_all_are_found(monkeypatch):
    mask = np.random.default_rng(0).random((100, 2)) < 0.2
    for block in (1, 7, 1000):
        monkeypatch.setattr(blocks, "BLOCK", block)
        found = found_rows(lambda rows: mask[rows], len(mask), width_of(mask))
        assert found.count == mask.any(axis=1).sum()
        assert list(found.first) == np.flatnonzero(mask.any(axis=1))[:5].tolist()
    assert found_rows(lambda rows: ~any_entry(mask[rows] | True), len(mask)) == FoundRows((), 0)
    assert one_later(slice(3, 5)) == slice(4, 6)


def test_distinct_values_are_sorted(monkeypatch):
    column = np.random.default_rng(0).integers(-5, 5, 100).astype(np.int32)
    monkeypatch.setattr(blocks, "BLOCK", 7)
    assert np.array_equal(distinct_values(column), np.unique(column))
    assert len(distinct_values(column, 3)) > 3
    assert np.array_equal(distinct_values(column, 10), np.unique(column))


def broken_logs():
    """Logs with errors of each kind that rules find, in the first, in the last, and in many rows."""
    grid = us.record(us.envs.Grid(), episodes=10, seed=0)
    n = len(grid)
    some = np.random.default_rng(0).random(n) < 0.1
    vectors = grid.observation[:, None] * np.ones(3)

    def with_(rows, value, column):
        changed = np.array(column)
        changed[rows] = value
        return changed

    yield "clean", grid
    for where, rows in {"first": [0], "last": [n - 1], "many": some}.items():
        yield f"missing {where}", replace(grid, reward=with_(rows, np.nan, grid.reward))
        following = with_(rows, np.nan, vectors + 1)
        seen = with_(rows, np.inf, vectors)
        yield f"missing vectors {where}", replace(grid, observation=seen, next_observation=following)
        derived = ("next_observation",)
        yield f"derived {where}", replace(grid, observation=vectors, next_observation=following, derived=derived)
        late = np.roll(following, 1, axis=0)
        yield f"derived later {where}", replace(grid, observation=late, next_observation=following, derived=derived)
        yield f"actions {where}", replace(grid, action=with_(rows, 9, grid.action))
        yield f"percentages {where}", replace(grid, propensity=with_(rows, 20.0, grid.propensity))
        yield f"logarithms {where}", replace(grid, propensity=with_(rows, -1.6, grid.propensity))
        yield f"sums {where}", replace(grid, propensity=with_(rows, 0.3, grid.propensity))
        zero = np.where(np.arange(5) == grid.action[:, None], 0.0, 0.25)
        yield f"zero {where}", replace(grid, propensity=np.where(with_(rows, True, some)[:, None], zero, 0.2))
        yield f"pieces {where}", replace(grid, episode=with_(rows, 7, grid.episode))
        yield f"steps {where}", replace(grid, step=with_(rows, 5, grid.step))
        yield f"ends {where}", replace(grid, terminated=with_(rows, True, grid.terminated))
        yield f"both {where}", replace(grid, terminated=with_(rows, True, grid.terminated), truncated=grid.terminated)
        yield f"next {where}", replace(grid, next_observation=with_(rows, 3, grid.next_observation))
    yield "never ends", replace(grid, terminated=np.zeros(n, bool), truncated=np.zeros(n, bool))
    opening = np.random.default_rng(1).random((n + 1, 2))
    reset = {"observation": opening[:-1], "next_observation": opening[1:], "truncated": grid.terminated}
    yield "reset", replace(grid, **reset, terminated=np.zeros(n, bool))
    yield "reset, harmless", replace(grid, **reset)
    yield "late steps", replace(grid, step=grid.step + (grid.episode % 3 == 1).astype(np.int32))
    yield "never logged", replace(grid, action=grid.action * 0)


def test_findings_are_the_same_in_blocks_of_seven_entries_and_of_all(monkeypatch):
    for name, log in broken_logs():
        found = []
        for block in (7, 1 << 40):
            monkeypatch.setattr(blocks, "BLOCK", block)
            fresh = replace(log)  # what a log keeps of itself is found again
            findings = [finding for rule in (*rules.ERRORS, *rules.OTHERS) for finding in rule(fresh)]
            found.append((findings, fresh.unfinished.tolist(), fresh.starts.tolist(), fresh.fingerprint))
        assert found[0] == found[1], name


def test_strided_columns_have_the_fingerprint_of_whole_ones(monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK", 7)
    log = us.record(us.envs.Grid(), episodes=5, seed=0)
    records = np.zeros(len(log), [("reward", "f8"), ("action", "i4"), ("terminated", "?"), ("pad", "u1", 3)])
    for name in ("reward", "action", "terminated"):
        records[name] = getattr(log, name)
    strided = replace(log, **{name: records[name] for name in ("reward", "action", "terminated")})
    assert not strided.reward.flags.c_contiguous
    assert strided.fingerprint == log.fingerprint
    assert isinstance(strided, Log)
