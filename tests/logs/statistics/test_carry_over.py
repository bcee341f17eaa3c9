"""Each log has 2,000 rows or so; a test fires by chance in 1 of 10,000 clean logs, so none of a few hundred should."""

import re

import numpy as np
import pytest

import understudy as us
from understudy.logs import Log
from understudy.logs.recurring import recurring
from understudy.logs.statistics import carry_over
from understudy.logs.statistics.carry_over import RULE


def answer(log):
    return carry_over.carry_over(log, recurring(log.observation))


def process(rng, n=2000, effect=0.0, kind="numbers"):
    """Decisions whose contexts come in waves, by a logger that goes by the context and by what it did before.

    With an effect, an action changes the context of the next row.
    """
    context, habit, rows = 0.0, 0.0, []
    for _ in range(n):
        p = 1 / (1 + np.exp(-(context + habit)))
        action = int(rng.random() < p)
        rows.append((context, action, p))
        habit = 0.9 * habit + 0.1 * (action - 0.5)
        context = 0.95 * context + 0.3 * rng.normal() + effect * (action - p)
    seen, action, p = map(np.array, zip(*rows, strict=True))
    observation = {
        "numbers": np.column_stack([seen, rng.normal(size=n)]),
        "codes": np.digitize(seen, [-1, 0, 1]),
        "labels": None,
    }[kind]
    return {"observation": observation, "action": action, "p": np.column_stack([1 - p, p]), "seen": seen}


def log_of(made, chosen=False, length=1):
    p, n = made["p"], len(made["action"])
    return Log.from_columns(
        observation=made["observation"], next_observation=np.roll(made["observation"], -1, axis=0),
        action=made["action"], reward=np.zeros(n), propensity=p[np.arange(n), made["action"]] if chosen else p,
        episode=np.arange(n) // length, ends="every-row" if length == 1 else "terminated",
    )  # fmt: skip


@pytest.mark.parametrize("chosen", [False, True])
@pytest.mark.parametrize("kind", ["numbers", "codes"])
def test_contexts_in_waves_are_no_alarm_and_an_action_that_changes_the_next_row_is_a_doubt(kind, chosen):
    rng = np.random.default_rng(0)
    clean = [answer(log_of(process(rng, kind=kind), chosen)) for _ in range(50)]
    assert not any(one.findings for one in clean)
    assert all(one.tested.comparisons for one in clean)
    for _ in range(10):
        found = answer(log_of(process(rng, effect=1.0, kind=kind), chosen))
        assert [(one.severity, one.rule) for one in found.findings] == [("doubt", RULE)]
        assert "rows are steps of one process" in found.findings[0].sentence


def test_without_propensities_waves_would_look_like_an_effect(monkeypatch):
    """The wrong variant: an action compared with how often it was taken, not with how likely it was."""

    def wrong(log, rows, action):
        residual = (log.action[rows] == action) - (log.action[rows] == action).mean()
        return residual, np.square(residual)

    rng = np.random.default_rng(1)
    logs = []
    for _ in range(10):
        made = process(rng, n=8000)
        made["observation"] = (made["seen"] > 0).astype(int)  # of the context, by which the logger went, a part is seen
        logs.append(log_of(made))
    assert not any(answer(log).findings for log in logs)
    monkeypatch.setattr(carry_over, "_residual", wrong)
    assert sum(bool(answer(log).findings) for log in logs) >= 5


def test_words_name_the_users_columns_and_values():
    rng = np.random.default_rng(2)
    made = process(rng, effect=1.0)
    page = np.array(["home", "basket", "paid"])[np.digitize(made["seen"], [-0.5, 0.5])]
    table = {
        "page": page, "country": rng.choice(["DE", "FR"], len(page)), "paid": np.zeros(len(page)),
        "arm": np.array(["wait", "push"])[made["action"]], "p_wait": made["p"][:, 0], "p_push": made["p"][:, 1],
    }  # fmt: skip
    told = {"action": "arm", "reward": "paid", "propensity": {"wait": "p_wait", "push": "p_push"}, "ends": "every-row"}
    more, less = (
        "(push makes page=paid|wait makes page=home) more frequent",
        "(push makes page=home|wait makes page=paid) rarer",
    )
    for observation in ("page", ["page", "country"]):
        audit = us.check(us.read(table, observation=observation, **told))
        sentence = next(one.sentence for one in audit.findings if one.rule == RULE)
        assert re.match(rf"action ({more}|{less}) in the next row", sentence)
        assert not audit.believable
    numbers = {name: column for name, column in table.items() if name != "page"} | {"heat": made["seen"]}
    audit = us.check(us.read(numbers, observation=["heat", "country"], **told))
    assert re.match(
        "action (push raises|wait lowers) heat in the next row",
        next(one.sentence for one in audit.findings if one.rule == RULE),
    )


def test_of_episodes_of_several_steps_it_is_a_warning():
    rng = np.random.default_rng(3)
    found = answer(log_of(process(rng, effect=1.0), length=4))
    assert [one.severity for one in found.findings] == ["warning"]
    assert "at the end of an episode" in found.findings[0].sentence
    assert not answer(log_of(process(rng), length=4)).findings


def test_where_it_cannot_be_asked_it_says_why():
    made = process(np.random.default_rng(4), n=400)
    log = log_of(made)
    assert "fewer than 100" in answer(log.select(np.arange(50))).tested.reason
    grid = us.record(us.envs.Grid(), episodes=150, seed=0)
    assert "begin alike" in answer(grid).tested.reason
    none = Log.from_columns(
        observation=made["observation"], action=made["action"], reward=np.zeros(400), ends="every-row"
    )
    assert "propensities are needed" in answer(none).tested.reason
    assert "as the logger had them" in answer(us.estimate_propensities(none)).tested.reason
    piece = log_of(made, length=4)
    unfinished = Log.from_columns(**{name: piece.columns[name] for name in ("observation", "next_observation", "action",
        "reward", "episode", "propensity")}, ends="unfinished")  # fmt: skip
    assert "fewer than 100" in answer(unfinished).tested.reason
