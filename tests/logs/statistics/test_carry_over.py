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
        p = np.clip(1 / (1 + np.exp(-(context + habit))), 0.25, 0.75)
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
        assert re.match(rf"arm=({more}|{less}) in the next row", sentence)
        assert not audit.believable
    numbers = {name: column for name, column in table.items() if name != "page"} | {"heat": made["seen"]}
    audit = us.check(us.read(numbers, observation=["heat", "country"], **told))
    assert re.match(
        "arm=(push raises|wait lowers) heat in the next row",
        next(one.sentence for one in audit.findings if one.rule == RULE),
    )


def test_an_action_that_may_have_been_impossible_at_times_is_not_tested_by_the_propensity_of_the_chosen_one():
    """Offers that are made at weekends alone, when more people come: nothing that is done changes anything."""
    rng = np.random.default_rng(3)
    fired = []
    for _ in range(10):
        weekend = (np.arange(4000) // 100) % 7 >= 5
        visitors = 10 + 20 * weekend + rng.normal(size=4000)
        p = np.where(weekend[:, None], [1 / 3, 1 / 3, 1 / 3], [0.5, 0.5, 0.0])
        action = (p.cumsum(axis=1) < rng.random((4000, 1))).sum(axis=1)
        made = {"observation": np.column_stack([visitors, rng.normal(size=4000)]), "action": action, "p": p}
        fired += [bool(answer(log_of(made, chosen)).findings) for chosen in (True, False)]
    assert not any(fired)
    never = log_of({**made, "p": p}, chosen=True)
    assert answer(never).tested.comparisons == 4  # of the two that were possible always, and two entries


def test_many_columns_take_moments():
    """With 16 columns of 8 labels each; a numpy product for each column and label would take minutes."""
    rng = np.random.default_rng(5)
    table = {f"c{entry}": rng.choice(list("abcdefgh"), 5000) for entry in range(16)}
    table |= {
        "action": rng.integers(2, size=5000),
        "reward": np.zeros(5000),
        "p0": np.full(5000, 0.5),
        "p1": np.full(5000, 0.5),
    }
    log = us.read(table, observation=[f"c{entry}" for entry in range(16)], propensity=["p0", "p1"], ends="every-row")
    assert answer(log).tested.comparisons == 2 * carry_over.MOST_FEATURES
    huge = log_of(
        {**process(rng, n=400), "observation": np.column_stack([rng.choice([1e300, -1e308], 400), np.ones(400)])}
    )
    assert "observe alike" in answer(huge).tested.reason


def test_where_it_cannot_be_asked_it_says_why():
    made = process(np.random.default_rng(4), n=400)
    log = log_of(made)
    assert "fewer than 100" in answer(log.select(np.arange(50))).tested.reason
    grid = us.record(us.envs.Grid(), episodes=150, seed=0)
    assert "several rows" in answer(grid).tested.reason
    same = Log.from_columns(observation=np.zeros(400, int), action=made["action"], reward=np.zeros(400),
        propensity=made["p"], ends="every-row")  # fmt: skip
    assert "observe alike" in answer(same).tested.reason
    none = Log.from_columns(
        observation=made["observation"], action=made["action"], reward=np.zeros(400), ends="every-row"
    )
    assert "propensities are needed" in answer(none).tested.reason
    assert "as the logger had them" in answer(us.estimate_propensities(none)).tested.reason
