import numpy as np
import pytest

from understudy.errors import LogError
from understudy.logs import Log, read

ROWS = {"observation": [0] * 30, "reward": [0.0] * 30, "ends": "every-row"}
PAIRS = [["shoes", "hats"], ["hats", "belts"], ["shoes", "belts"]] * 10


@pytest.mark.parametrize("action", [PAIRS, np.array(PAIRS), np.ones((30, 3), int), [{"shoes", "hats"}] * 30])
def test_slates_are_refused_with_what_could_be_done(action):
    with pytest.raises(LogError, match=r"several at once \(a slate\).*a row for each position.*give each a label"):
        Log.from_columns(action=action, **ROWS)


def test_slates_in_a_table_are_refused_by_their_row():
    import pyarrow as pa

    ragged = [["shoes"], ["hats", "belts"], ["belts"]]
    table = pa.table({"observation": [0] * 3, "action": ragged, "reward": [0.0] * 3})
    with pytest.raises(LogError, match=r"^action is \['hats', 'belts'\] in row 1, which is several at once"):
        read(table, ends="every-row")
    alone = pa.table({"observation": [0] * 3, "action": [["a"], ["b"], ["a"]], "reward": [0.0] * 3})
    assert read(alone, ends="every-row").action.tolist() == [0, 1, 0]


def test_continuous_actions_are_refused_with_what_could_be_done():
    with pytest.raises(LogError, match=r"action is 0\.5 in row 0.*continuous.*bin them .*probability of the whole bin"):
        Log.from_columns(action=np.arange(30) + 0.5, **ROWS)


def test_few_numbers_that_are_not_whole_can_have_labels():
    prices = [0.5, 1.0, 2.5] * 10
    with pytest.raises(LogError, match="give the values as labels with actions="):
        Log.from_columns(action=prices, **ROWS)
    assert Log.from_columns(action=prices, actions=["0.5", "1", "2.5"], **ROWS).action[:3].tolist() == [0, 1, 2]


def test_whole_floats_are_actions():
    assert Log.from_columns(action=np.arange(30.0), **ROWS).action.tolist() == list(range(30))
