import pandas as pd
import pyarrow as pa
import pytest

from understudy.errors import SettingError
from understudy.logs import read

BASIC = {"observation": [0, 1, 2, 5], "action": [0, 1, 0, 1], "reward": [0.0, 0.5, 1.0, 0.0]}
ENDED = {**BASIC, "terminated": [False, False, True, True]}


def arms():
    return pd.DataFrame(
        {
            "x": [0, 1, 0],
            "arm": ["b", "a", "b"],
            "r": [0.0, 1.0, 0.0],
            "end": [True] * 3,
            "pa": [0.2] * 3,
            "pb": [0.8] * 3,
        }
    )


def test_propensities_may_be_mapped_from_labels_to_columns():
    options = {"observation": "x", "action": "arm", "reward": "r", "terminated": "end"}
    log = read(arms(), **options, propensity={"b": "pb", "a": "pa"})
    assert log.spec.actions == ("b", "a")
    assert log.action.tolist() == [0, 1, 0]
    assert log.propensity[0].tolist() == [0.8, 0.2]
    with pytest.raises(SettingError, match="another order"):
        read(arms(), **options, propensity={"b": "pb", "a": "pa"}, actions=["a", "b"])


def csv_file(tmp_path, text):
    (tmp_path / "log.csv").write_text(text)
    return tmp_path / "log.csv"


LABELED = "observation,action,reward,terminated,p,q\n0,{0},1,true,.7,.3\n1,{1},0,true,.6,.4\n2,{0},1,true,.7,.3\n"


@pytest.mark.parametrize(
    ("first", "second"),
    [("true", "false"), ("True", "False"), ("TRUE", "FALSE"), ("1.0", "0.0"), ("1", "0"), ("b", "a")],
)
def test_propensities_go_to_the_label_they_are_mapped_from(tmp_path, first, second):
    path = csv_file(tmp_path, LABELED.format(first, second))
    for log in (
        read(path, propensity={first: "p", second: "q"}),
        read(path, propensity=["p", "q"], actions=[first, second]),
    ):
        assert log.spec.actions == (first, second)
        assert log.action.tolist() == [0, 1, 0]
        assert log.propensity[:, 0].tolist() == [0.7, 0.6, 0.7]
    log = read(path, propensity={second: "q", first: "p"})
    assert [log.spec.actions[code] for code in log.action] == [first, second, first]
    assert log.propensity[:, log.spec.actions.index(first)].tolist() == [0.7, 0.6, 0.7]


def test_twelve_numbered_arms_stand_in_the_order_of_their_propensity_columns():
    arms = [str(arm) for arm in range(12)]
    p = {f"propensity_{arm}": [0.1 + (arm == 10)] * 12 for arm in range(12)}
    log = read(
        pa.table({"observation": range(12), "action": arms, "reward": range(12), "terminated": [True] * 12, **p})
    )
    assert log.spec.actions == tuple(arms)
    assert log.propensity[0, log.spec.actions.index("10")] == 1.1


def test_named_propensity_columns_keep_the_order_they_are_named_in():
    columns = {**ENDED, "action": list("xyxy"), "propensity_0": [0.1] * 4, "propensity_1": [0.9] * 4}
    for wanted in ({"x": "propensity_1", "y": "propensity_0"}, ["propensity_1", "propensity_0"]):
        assert read(pa.table(columns), propensity=wanted).propensity[0].tolist() == [0.9, 0.1]
    reverse = ["observation_1", "observation_0"]
    table = pa.table({**ENDED, "observation_0": [0] * 4, "observation_1": [1] * 4}).drop_columns("observation")
    assert read(table, observation=reverse).observation[0].tolist() == [1, 0]


def test_one_column_may_be_the_propensity_of_several_actions():
    table = pa.table({**ENDED, "action": ["l", "r", "l", "r"], "p": [0.5] * 4})
    for asked in (["p", "p"], {"l": "p", "r": "p"}):
        log = read(table, propensity=asked)
        assert log.propensity.tolist() == [[0.5, 0.5]] * len(log)


def named_after(column, names, **options):
    columns = {name: [0.1 * (at + 1)] * len(column) for at, name in enumerate(names)}
    table = {"observation": range(len(column)), "action": column, "reward": [0.0] * len(column)}
    log = read(pa.table({**table, "terminated": [True] * len(column), **columns}), propensity=list(names), **options)
    labels = log.spec.actions or tuple(map(str, range(log.spec.n_actions)))
    return {label: round(float(p), 3) for label, p in zip(labels, log.propensity[0], strict=True)}, log


@pytest.mark.parametrize(
    ("actions", "names"),
    [
        (["false", "true"], ["true", "false"]),
        ([False, True], ["true", "false"]),
        (["shoes", "hats", "bags"], ["shoes", "hats", "bags"]),
        (["10", "9"], ["10", "9"]),
        ([0, 1], ["1", "0"]),
        ([0, 0], ["1", "0"]),
        ([0, 5, 10, 15], ["15", "0", "5", "10"]),
        (["b", "b"], ["b", "a"]),
    ],
)
def test_propensity_columns_named_like_the_actions_belong_to_them(actions, names):
    belongs, log = named_after(actions, names)
    assert belongs == {name: round(0.1 * (at + 1), 3) for at, name in enumerate(names)}
    labels = log.spec.actions or tuple(map(str, range(log.spec.n_actions)))
    assert [labels[code] for code in log.action] == [str(action).lower() for action in actions]
    assert not any(note.startswith("labels") for note in log.notes)


def test_actions_in_another_order_than_the_propensity_columns_named_after_them_are_refused():
    assert named_after(["a", "b"], ["b", "a"], actions=["b", "a"])[0] == {"b": 0.1, "a": 0.2}
    with pytest.raises(
        SettingError, match="b, a are named after the actions, and actions= has these in another order, a, b"
    ):
        named_after(["a", "b"], ["b", "a"], actions=["a", "b"])


def test_a_mapping_of_propensities_is_taken_at_its_word():
    table = pa.table({**ENDED, "action": list("abab"), "a": [0.1] * 4, "b": [0.9] * 4})
    log = read(table, propensity={"a": "b", "b": "a"})
    assert (log.spec.actions, log.propensity[0].tolist()) == (("a", "b"), [0.9, 0.1])


def test_other_propensity_columns_are_taken_by_their_place():
    assert named_after(["a", "b"], ["p", "q"])[0] == {"a": 0.1, "b": 0.2}
    assert named_after(["a", "b"], ["p", "q"], actions=["b", "a"])[0] == {"b": 0.1, "a": 0.2}


@pytest.mark.parametrize("form", ["p_{}", "prob {}", "{}_probability", "p[{}]"])
def test_columns_that_are_named_after_actions_with_something_around_belong_to_these(form):
    """In the order in which a person wrote them, which is not that of the labels."""
    p = {form.format("email"): [0.7, 0.6, 0.7], form.format("call"): [0.3, 0.4, 0.3]}
    table = pa.table(
        {"observation": [0, 1, 0], "action": ["email", "call", "email"], "reward": [1.0, 0.0, 1.0],
         "terminated": [True] * 3, **p}
    )  # fmt: skip
    log = read(table, propensity=list(p))
    assert log.propensity[:, log.spec.actions.index("email")].tolist() == [0.7, 0.6, 0.7]
    with pytest.raises(SettingError, match="are named after the actions, and actions= has these in another order"):
        read(table, propensity=list(p), actions=["call", "email"])


def test_an_action_that_no_row_took_has_its_column_too():
    p = {"p_mail": [0.5, 0.5], "p_never": [0.2, 0.2], "p_call": [0.3, 0.3]}
    table = pa.table(
        {"observation": [0, 1], "action": ["mail", "call"], "reward": [1.0, 0.0], "terminated": [True] * 2, **p}
    )
    log = read(table, propensity=list(p))
    assert sorted(log.spec.actions) == ["call", "mail", "never"]
    assert log.propensity[0, log.spec.actions.index("never")] == 0.2


def test_numbers_beside_other_actions_are_no_names_of_them():
    p = {"p1": [0.7, 0.7], "p0": [0.3, 0.3]}
    table = pa.table({"observation": [0, 1], "action": ["a", "b"], "reward": [1.0, 0.0], "terminated": [True] * 2, **p})
    assert read(table, propensity=["p1", "p0"]).propensity[0].tolist() == [0.7, 0.3]
