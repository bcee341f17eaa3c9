import numpy as np

from understudy.evaluation.intervals import Interval
from understudy.trust.decisions import Decision
from understudy.trust.sentences import sentence_of
from understudy.trust.windows import Windows

NONE = np.empty(0)
ENDS = np.array([10, 20, 30, 40])


def windows(unit="episode", shortest="a", longest=50):
    return Windows({}, ENDS if unit == "episode" else 100 * ENDS, unit, shortest, longest)


def decision(low, high, begins=None, reverse=False):
    curve = Interval(1000 * ENDS // 10, NONE, NONE, NONE, 0.95, 0, NONE, NONE)
    return Decision((low + high) / 2, low, high, 0.95, 2, begins, reverse, curve)


def test_two_learners_that_are_told_apart():
    found = sentence_of("b", {"a": decision(0.04, 0.09, begins=1)}, windows(), None)
    assert found == (
        "b earns more than a by 0.04 to 0.09 an episode over episodes 21 to 40; window by window, that shows from "
        "episode 11 (step 1,000) on"
    )
    found = sentence_of("b", {"a": decision(0.04, 0.09, begins=0)}, windows(), None)
    assert found == "b earns more than a from the first episode on, by 0.04 to 0.09 an episode over episodes 21 to 40"


def test_a_lead_that_has_no_beginning_or_that_turned_around():
    found = sentence_of("b", {"a": decision(0.04, 0.09)}, windows(), None)
    assert found.startswith("b earns more than a by 0.04 to 0.09 an episode over episodes 21 to 40")
    assert found.endswith("; from where on, this log cannot tell")
    found = sentence_of("b", {"a": decision(0.04, 0.09, begins=3, reverse=True)}, windows(), None)
    assert found.endswith("; at first a earns more")


def test_two_learners_that_are_not_told_apart():
    found = sentence_of("b", {"a": decision(-0.04, 0.09)}, windows(), None)
    assert found == "this log cannot tell b from a: over episodes 21 to 40 they differ by -0.04 to 0.09 an episode"
    found = sentence_of("b", {"a": decision(np.nan, np.nan)}, windows(), None)
    assert found == "this log cannot tell b from a: halves of it answer too few steps to show its luck"


def test_a_probe_is_read_at_steps():
    found = sentence_of("b", {"a": decision(0.04, 0.09, begins=1)}, windows("step", longest=5000), "start value")
    assert found == (
        "b has more 'start value' than a by 0.04 to 0.09 over steps 2,001 to 4,000; window by window, that shows "
        "from step 2,000 on"
    )
    found = sentence_of("b", {"a": decision(-0.04, 0.09)}, windows("step", longest=5000), "start value")
    assert found.endswith("over steps 2,001 to 4,000 they differ by -0.04 to 0.09 in 'start value'")


def test_many_learners():
    others = {"a": decision(0.5, 0.9), "c": decision(0.1, 0.4), "d": decision(1, 2)}
    found = sentence_of("b", others, windows(), None)
    assert found == (
        "b earns more than each of the 3 others over episodes 21 to 40: 0.1 to 0.4 an episode more than c, which comes "
        "closest"
    )
    others |= {"c": decision(-0.1, 0.4)}
    found = sentence_of("b", others, windows(), None)
    assert found == (
        "the best of the 4 is b or one that cannot be told from it (c); over episodes 21 to 40 the other 2 earn less"
    )
    found = sentence_of("b", dict.fromkeys("acd", decision(-0.1, 0.4)), windows(), None)
    assert found.startswith("none of the 4 can be told from the best: b was ahead over episodes 21 to 40")
    many = {f"x{number}": decision(-0.1, 0.4) for number in range(8)} | {"y": decision(1, 2)}
    assert "(x0, x1, x2, x3, x4 and 3 more)" in sentence_of("b", many, windows(), None)
    assert sentence_of("b", many, windows(), None).endswith("the other earns less")


def test_a_learner_that_ends_long_before_the_others_is_named():
    found = sentence_of("b", {"a": decision(-1, 1)}, windows(longest=80), None)
    assert found.endswith("; compared up to episode 40, where runs of a end (the others reach 80)")
