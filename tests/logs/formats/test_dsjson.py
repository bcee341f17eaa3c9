import json

import numpy as np
import pytest

from understudy.errors import LogError
from understudy.logs import check, read

MULTI = [{"id": "news", "size": 2}, {"id": "sport", "size": 3}]


def line(cost=-1.0, action=1, p=(0.8, 0.2), context=None, multi=MULTI, **more):
    order = [action, *(other for other in range(1, len(p) + 1) if other != action)]
    return {
        "_label_cost": cost, "_label_probability": p[action - 1], "_label_Action": action, "_labelIndex": action - 1,
        "Version": "1", "EventId": "7", "a": order, "p": [p[at - 1] for at in order],
        "c": {**({"user": {"age": 31, "vip": True}} if context is None else context), "_multi": multi},
        **more,
    }  # fmt: skip


def written(tmp_path, *lines, name="log.dsjson"):
    text = "\n".join(one if isinstance(one, str) else json.dumps(one) for one in lines)
    (tmp_path / name).write_text(text + "\n")
    return tmp_path / name


def test_a_line_is_a_decision_with_all_probabilities(tmp_path):
    log = read(written(tmp_path, line(), line(cost=0.5, action=2, context={"user": {"age": 4, "vip": False}})))
    assert log.spec.actions == ("news", "sport")
    assert log.action.tolist() == [0, 1]
    assert log.reward.tolist() == [1.0, -0.5]
    np.testing.assert_array_equal(log.propensity, [[0.8, 0.2], [0.8, 0.2]])
    assert log.spec.features == ("user.age", "user.vip")
    assert log.observation.tolist() == [[31, 1], [4, 0]]
    assert log.spec.action_features.column("size") == (2, 3)
    assert check(log).ok


def test_features_of_all_kinds(tmp_path):
    context = {
        "page": "home",
        "deep": {"er": {"x": 0.5}},
        "list": [1, 2.5],
        "named": [{"a": 1}, {"b": 2}],
        "n": None,
        "e": "",
    }
    log = read(written(tmp_path, line(context=context), line(context={"page": "cart"})))
    assert log.spec.features == ("page", "deep.er.x", "list.0", "list.1", "named.a", "named.b")
    assert log.observation[:, 1:].tolist() == [[0.5, 1, 2.5, 1, 2], [0, 0, 0, 0, 0]]


def test_a_line_without_all_probabilities_leaves_the_chosen_ones(tmp_path):
    lines = [line(), line(action=2)]
    del lines[1]["p"]
    assert read(written(tmp_path, *lines)).propensity.tolist() == [0.8, 0.2]


def test_lines_that_are_not_decisions_are_left_out_with_a_note(tmp_path):
    log = read(written(tmp_path, {"EventId": "7", "v": 1}, line(), line(_skipLearn=True), "", line(pdrop=0.5)))
    assert len(log) == 2
    assert log.notes[:3] == (
        "left-out: 1 lines without a label are not rows of the log",
        "left-out: 1 lines of decisions that were never shown (_skipLearn) are not rows of the log",
        "sampled: in 1 rows pdrop says that some decisions were left out of the file at random; where that depends on "
        "what was earned, rewards here are not those of all decisions",
    )


@pytest.mark.parametrize("name", ["log.json", "log.jsonl", "log"])
def test_it_is_known_by_how_it_begins(tmp_path, name):
    assert len(read(written(tmp_path, line(), line(), name=name))) == 2
    with pytest.raises(LogError, match=r"is a number on a line"):
        read(written(tmp_path, {"_label_ca": {"action": 1.5, "cost": 2.0}, "c": {"room=kitchen": 1}}, name=name))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ('{"_label_cost": 1, "_la', "line 2 is not JSON .*if it is the last line, the file was cut off"),
        ("[1, 2]", "line 2 is JSON but not an object"),
        ("[" * 100_000, "line 2 is not JSON"),
        (line(cost="high"), '_label_cost is "high" in line 2, not a number'),
        (line(cost=True), "_label_cost is true in line 2, not a number"),
        ('{"c": {"user": "\\ud800"}}', "line 2 holds half of a surrogate pair"),
        ({"_label_cost": 1}, "_label_probability is null in line 2"),
        (line() | {"_label_Action": 3}, "line 2 chose action 3 of 2"),
        (line() | {"_label_Action": 1.5}, "_label_Action is 1.5 in line 2"),
        (line() | {"p": [0.8]}, "line 2 has 2 actions in a and 1 in p"),
        (line() | {"p": ["x", 0.2]}, "line 2 has something else than numbers in a or p"),
        (line() | {"_label_probability": 0.3}, "line 2 says that the chosen action had probability 0.3, and 0.8"),
        (line() | {"c": [1]}, "c is not an object in line 2"),
        (line(multi=[1, 2]), "c._multi is not a list of objects in line 2"),
        (line(multi=MULTI[:1], p=(1.0,)), "line 2 offers 1 actions and the first decision 2"),
        (
            line(context={"user": "text", "age": 1} | {"user": {"age": "old"}}),
            "user.age is text in line 2 and a number",
        ),
        (
            line(_outcomes=[{"_a": [0, 1]}]),
            r"line 2 is a decision about several slots \(a slate\).*a line for each slot",
        ),
        (line(context={"_slots": [{}]}), "several slots"),
        ({"_label_ca": {"action": 1.5}, "c": {}}, "line 2 has an action that is a number on a line .*bin them"),
    ],
)
def test_what_is_wrong_is_named_by_its_line(tmp_path, wrong, message):
    with pytest.raises(LogError, match=message) as refused:
        read(written(tmp_path, line(), wrong))
    assert "log.dsjson" in str(refused.value)
    assert "\n" not in str(refused.value)


def test_features_without_a_bottom_are_refused(tmp_path):
    context = {"x": 1}
    for _ in range(50):
        context = {"x": context}
    with pytest.raises(LogError, match="line 1 has features more than 16 levels deep"):
        read(written(tmp_path, line(context=context)))


STRANGE = ["NaN", "Infinity", "1" + "0" * 400, "1" * 5000, "-0.0", "1e400", "[]", "true", '"\\ud800"']


@pytest.mark.parametrize("value", STRANGE, ids=lambda value: value[:10])
@pytest.mark.parametrize("name", ["_label_cost", "_label_probability", "_label_Action", "p", "x"])
def test_strange_values_are_read_or_refused_in_a_sentence(tmp_path, name, value):
    wrong = line(context={"x": "HERE" if name == "x" else 0})
    if name != "x":
        wrong[name] = ["HERE", 0.2] if name == "p" else "HERE"
    path = written(tmp_path, line(context={"x": 0}), json.dumps(wrong).replace('"HERE"', value))
    try:
        message = f"{path} {len(read(path))}"
    except LogError as error:
        message = str(error)
    assert str(path) in message
    assert "\n" not in message


def test_a_number_of_actions_that_changes_or_is_absurd_is_refused(tmp_path):
    with pytest.raises(LogError, match="line 2 offers 3 actions and the first decision 2"):
        read(written(tmp_path, line(multi=None), line(multi=None, p=(0.8, 0.1, 0.1))))
    absurd = line(multi=None) | {"_label_Action": 10**9}
    del absurd["a"]
    with pytest.raises(LogError, match="line 1 has 1,000,000,000 actions, and 1,048,576 is the most"):
        read(written(tmp_path, absurd))
