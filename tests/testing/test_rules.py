"""Rules that are kept are recorded, and the first that is broken is raised."""

import random
import threading
from dataclasses import replace

import numpy as np
import pytest

import understudy as us
from understudy.contracts import Stop
from understudy.errors import ContractError, SettingError
from understudy.testing.rules import (
    Rules,
    check_travels,
    copy_of,
    default_log,
    global_randomness,
    log_or_default,
    same_run,
)


def test_rules_that_hold_are_listed_once_in_order():
    rules = Rules("Mine")
    for rule in ("a", "b", "a"):
        rules.check(rule, True, "", "")
    assert rules.checked().rules == ("a", "b")
    assert repr(rules.checked()) == "Mine keeps 2 rules:\n  a\n  b"


def test_a_broken_rule_says_what_was_found_and_what_to_do():
    with pytest.raises(ContractError, match=r"^Mine breaks the rule that states are numbers: it is 'x'; return codes$"):
        Rules("Mine").check("states are numbers", False, "it is 'x'", "return codes")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (KeyError("k"), "b: it raised KeyError: 'k'; do this"),
        (SettingError("n is 0; give more"), "b: n is 0; give more"),
        (ContractError("a rule; an advice"), "b: a rule; an advice"),
    ],
)
def test_an_error_breaks_the_rule_and_ours_speak_for_themselves(error, said):
    rules = Rules("Mine")
    with (
        pytest.raises(ContractError, match=f"^Mine breaks the rule that {said}$"),
        rules.trying("b", "do this"),
    ):
        raise error
    assert rules.checked().rules == ()


def test_an_error_of_ours_is_followed_by_what_only_the_check_knows():
    for error, said in ((SettingError("n is 0"), "n is 0; another log"), (KeyError(1), "it raised KeyError: 1")):
        refused = pytest.raises(ContractError, match=f"^Mine breaks the rule that b: {said}$")
        with refused, Rules("Mine").trying("b", ours="another log"):
            raise error


def test_what_is_offered_and_not_used_is_listed_with_the_reason():
    rules = Rules("Mine")
    rules.check("a", True, "", "")
    rules.note_unused("the compiled form", "arrays() returned None")
    assert rules.checked().not_used == ("the compiled form, since arrays() returned None",)
    assert repr(rules.checked()) == (
        "Mine keeps 1 rule:\n  a\nnot used: the compiled form, since arrays() returned None"
    )


def test_sending_a_class_of_main_leaves_its_methods_as_they_are():
    class OfMain:
        def method(self):
            return 1

    OfMain.__module__, OfMain.__qualname__ = "__main__", "OfMain"  # cloudpickle sends such classes by value
    before = OfMain.method
    check_travels(Rules("Mine"), "the part", OfMain())
    assert OfMain.method is before


def test_what_cannot_be_pickled_cannot_be_sent():
    with pytest.raises(ContractError, match=r"the part can be sent to other processes: it raised TypeError: .*serial"):
        check_travels(Rules("Mine"), "the part", iter(x for x in ()))


def test_a_path_is_not_a_log():
    assert log_or_default(None).spec.n_actions == 5
    with pytest.raises(SettingError, match=r"^log is a str; read it with us\.read$"):
        log_or_default("x.parquet")


def test_the_default_log_has_every_action_and_all_propensities():
    log = default_log()
    assert (log.spec.n_observations, log.spec.n_actions) == (25, 5)
    assert set(log.action.tolist()) == set(range(5))
    assert log.propensity.shape == (len(log), 5)


def test_generators_of_the_process_are_set_and_put_back():
    before = random.getstate(), np.random.get_state()[1].tolist()  # noqa: NPY002
    drawn = []
    for _ in range(2):
        with global_randomness(3):
            drawn.append((random.random(), np.random.rand()))  # noqa: NPY002
    assert drawn[0] == drawn[1]
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before  # noqa: NPY002


@pytest.fixture(scope="module")
def run():
    return us.simulate(us.psrs(default_log()), us.learners.Uniform(5), 0, 50)


@pytest.mark.parametrize(
    "other",
    [
        {"emissions": np.arange(50, dtype=np.int32)},
        {"stopped": Stop("no row")},
        {"stopped": Stop("max steps", counts={"steps": 49})},
        {"partial": 1e6},
        {"partial": None},
    ],
)
def test_runs_that_differ_in_emissions_stop_or_partial_return_are_not_the_same(run, other):
    run = replace(run, partial=0.5)
    assert same_run(run, replace(run))
    assert not same_run(run, replace(run, **other))
    assert not same_run(replace(run, **other), run)
    assert same_run(replace(run, **other), replace(run, **other))


def test_emissions_are_compared_one_by_one(run):
    one, other = (replace(run, emissions=np.full(50, row, np.int32)) for row in (1, 2))
    assert not same_run(one, other)


def test_the_mass_of_a_stop_may_differ_by_rounding(run):
    one, near, far = (replace(run, stopped=Stop("no row", mass=mass)) for mass in (0.2, 0.2 + 1e-12, 0.2 + 1e-6))
    assert same_run(one, near)
    assert not same_run(one, far)


def test_what_cannot_be_copied_is_named_with_what_to_do():
    assert copy_of([1], "") == [1]
    with pytest.raises(ContractError, match=r"^lock cannot be copied \(TypeError: cannot pickle .*\); give another$"):
        copy_of(threading.Lock(), "give another")
