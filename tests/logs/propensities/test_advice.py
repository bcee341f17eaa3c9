import numpy as np

from understudy.cli.words import as_flags
from understudy.logs import Log
from understudy.logs.propensities.advice import next_moves, source_words

COLUMNS = {"observation": [0, 1, 0, 1], "action": [0, 1, 0, 1], "reward": [0, 0, 1, 1]}


def test_moves_are_in_the_order_of_honesty():
    moves = next_moves(Log.from_columns(**COLUMNS, ends="every-row"))
    order = [moves.index(word) for word in ("qbe", "with_propensities", "estimate_propensities")]
    assert order == sorted(order)
    assert "replay" not in moves


def test_replay_is_named_for_decisions_by_themselves_only():
    chosen = [0.4, 0.6, 0.7, 0.9]
    assert "us.replay(log)" in next_moves(Log.from_columns(**COLUMNS, propensity=chosen, ends="every-row"))
    assert "us.replay(log)" not in next_moves(Log.from_columns(**COLUMNS, propensity=chosen, ends="unfinished"))


def test_the_command_line_has_its_own_words():
    moves = as_flags(next_moves(Log.from_columns(**COLUMNS, propensity=np.full(4, 0.25), ends="every-row")))
    for flag in ("--n-actions 4", "--bandit", "--propensities FILE", "--estimate-propensities"):
        assert flag in moves
    assert "=" not in moves
    assert "log." not in moves


def test_every_source_has_words():
    bare = Log.from_columns(**COLUMNS, ends="every-row")
    assert source_words(bare) == "none"
    chosen = Log.from_columns(**COLUMNS, propensity=[0.4, 0.6, 0.7, 0.9], ends="every-row")
    assert source_words(chosen) == "as logged, of the chosen action only"
    assert source_words(bare.with_propensities([[0.4, 0.6], [0.3, 0.7]])) == "from a table"
