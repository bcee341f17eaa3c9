import numpy as np
import pytest

from understudy.errors import LogError, SettingError
from understudy.logs import Log, check, read
from understudy.logs.ends import ENDS

BASIC = {"observation": [0, 1, 2, 3], "action": [0, 1, 0, 1], "reward": [0.0, 0.5, 1.0, 0.0]}
VISITS = {**BASIC, "next_observation": [1, 2, 3, 4], "episode": ["a", "a", "b", "b"]}


def ended(columns, ends):
    log = Log.from_columns(**columns, ends=ends)
    return log.terminated.tolist(), log.truncated.tolist(), log.episode.tolist()


def test_the_last_row_of_each_episode_ends_it_as_was_said():
    never, last = [False] * 4, [False, True, False, True]
    assert ended(VISITS, "terminated") == (last, never, [0, 0, 1, 1])
    assert ended(VISITS, "truncated") == (never, last, [0, 0, 1, 1])
    assert ended(VISITS, "unfinished") == (never, never, [0, 0, 1, 1])
    assert Log.from_columns(**VISITS, ends="truncated").max_episode_steps == 2


def test_beside_a_column_a_limit_cut_off_the_episodes_that_did_not_terminate():
    terminated = np.array([False, True, False, False])
    assert ended({**VISITS, "terminated": terminated}, "truncated") == (
        terminated.tolist(), [False, False, False, True], [0, 0, 1, 1],
    )  # fmt: skip
    truncated = np.array([False, True, False, False])
    truncated.flags.writeable = False
    assert ended({**VISITS, "truncated": truncated}, "truncated")[1] == [False, True, False, True]


def test_every_row_can_be_an_episode():
    always, never = [True] * 4, [False] * 4
    assert ended(BASIC, "every-row") == (always, never, [0, 1, 2, 3])
    ids = [7, 5, 9, 1]
    assert ended({**BASIC, "episode": ids}, "every-row") == (always, never, ids)
    audit = check({**BASIC, "ends": "every-row"})
    assert audit.ok
    assert audit.n_episodes == 4
    assert "no-episode" not in {finding.rule for finding in audit.findings}


def test_rows_are_sorted_before_their_last_one_is_found():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({**VISITS, "episode": ["a", "b", "a", "b"], "ts": [3, 1, 2, 4]})
    log = read(frame, order_by="ts", ends="terminated")
    assert log.observation.tolist() == [1, 3, 2, 0]
    assert log.terminated.tolist() == [False, True, False, True]


def test_an_episode_in_pieces_ends_once():
    pieces = {**VISITS, "episode": [0, 1, 0, 1]}
    assert ended(pieces, "terminated")[0] == [False, False, True, True]
    with pytest.raises(LogError, match="goes on after another began, in row 2"):
        Log.from_columns(**pieces, ends="terminated").require_no_errors()


def test_a_process_that_goes_on_is_one_episode_when_said_so():
    log = Log.from_columns(**BASIC, ends="unfinished")
    assert (log.n_episodes, "terminated" in log.derived) == (1, False)
    assert "terminated" in Log.from_columns(**BASIC).derived


def test_episodes_of_which_no_end_is_told_are_asked_about_with_all_choices():
    with pytest.raises(LogError) as refused:
        Log.from_columns(**VISITS)
    for choice in ENDS[:3]:
        assert f'ends="{choice}"' in str(refused.value)
    assert "terminated= or truncated=" in str(refused.value)


def test_episodes_of_one_row_are_first_asked_whether_each_is_a_decision_by_itself():
    with pytest.raises(LogError, match=r'^every episode has one row, .* say ends="every-row"'):
        Log.from_columns(**{**VISITS, "episode": list("abcd")})


@pytest.mark.parametrize(
    ("columns", "ends", "message"),
    [
        (BASIC, "sometimes", "ends='sometimes' is unknown; give one of terminated, truncated, unfinished, every-row"),
        (BASIC, "terminated", 'no column tells episodes apart; name it with episode=, or say ends="every-row"'),
        (BASIC, "truncated", "no column tells episodes apart"),
        ({**BASIC, "terminated": [True] * 4}, "every-row", "the column terminated says so row by row; leave ends= out"),
        ({**VISITS, "truncated": [False] * 4}, "terminated", "the column truncated says so row by row"),
        ({**VISITS, "episode": [5, 3, 3, 3]}, "every-row", "the episode that begins in row 1 has 3 rows"),
    ],
)
def test_what_contradicts_the_columns_is_refused(columns, ends, message):
    with pytest.raises(SettingError, match=message):
        Log.from_columns(**columns, ends=ends)
    assert not check({**columns, "ends": ends}).ok


def test_one_step_truncations_need_a_next_observation():
    with pytest.raises(LogError, match="no row has a next observation"):
        Log.from_columns(**BASIC, episode=np.arange(4), ends="truncated")
