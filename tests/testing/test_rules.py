"""How a check speaks."""

import random

import numpy as np
import pytest

from understudy.errors import ContractError, SettingError
from understudy.testing.rules import Rules, default_log, global_randomness


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
        (SettingError("n is 0; give more"), "b: it raised n is 0; give more; do this"),
        (ContractError("a rule; an advice"), "b: a rule; an advice"),
    ],
)
def test_an_error_breaks_the_rule_and_ours_speak_for_themselves(error, said):
    rules = Rules("Mine")
    with (
        pytest.raises(ContractError, match=f"Mine breaks the rule that b: .*{said.split(': ')[-1]}$"),
        rules.trying("b", "do this"),
    ):
        raise error
    assert rules.checked().rules == ()


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
