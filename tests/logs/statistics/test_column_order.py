from understudy.logs import Log
from understudy.logs.statistics.column_order import action_name, other_order


def test_an_order_that_fits_is_named_and_the_given_one_is_not(walk):
    columns = walk(episodes=400)
    log = Log.from_columns(**columns)
    assert other_order(log, lambda _: True) is None
    swapped = Log.from_columns(**columns | {"propensity": columns["propensity"][:, [1, 0, 2]]})
    assert "would fit if the propensity columns were in the order 1, 0, 2" in other_order(swapped, lambda _: True)
    assert "would fit far better if" in other_order(swapped, lambda _: False)


def test_actions_are_named_by_their_labels(clean):
    assert action_name(Log.from_columns(**clean), 1) == "1"
    assert action_name(Log.from_columns(**clean, actions=["left", "stay", "right"]), 1) == "stay"
