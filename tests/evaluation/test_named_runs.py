"""Sets of runs by name; what are not runs is refused in a sentence."""

import re

import pytest

import understudy as us
from understudy.errors import ContractError
from understudy.evaluation.named_runs import check_runs, named_runs
from understudy.runs import About, Runs


def test_a_single_set_is_named_for_its_simulator_or_as_told(runs_of):
    runs = runs_of([20])
    assert named_runs(runs) == {"psrs": runs}
    assert named_runs(runs, "mine") == {"mine": runs}
    assert list(named_runs(Runs((), About()))) == ["runs"]


def test_names_and_order_of_a_mapping_are_kept(runs_of):
    sets = {0.5: runs_of([20]), "b": runs_of([30])}
    named = named_runs(sets)
    assert list(named.items()) == list(sets.items())
    assert named is not sets


@pytest.mark.parametrize("given", [["out/a"], "out/a", None, 3])
def test_neither_runs_nor_a_mapping_is_refused(given):
    with pytest.raises(ContractError, match=r"^runs is a \w+; give runs, or a mapping .* us\.load\(folder\)"):
        named_runs(given)


def test_a_set_that_is_not_runs_is_refused_by_name(runs_of):
    message = "^'b' is a list; give the Runs of an experiment$"
    with pytest.raises(ContractError, match=message):
        named_runs({"a": runs_of([20]), "b": []})
    with pytest.raises(ContractError, match=message):
        check_runs("b", [])
    check_runs("b", runs_of([20]))


@pytest.mark.parametrize(
    ("measure", "message"),
    [
        (lambda runs: us.earnings([runs]), "runs is a list; give runs, or a mapping"),
        (lambda runs: us.earnings({"a": [runs]}), "'a' is a list; give the Runs"),
        (lambda runs: us.efficiency([runs]), "'runs' is a list; give the Runs"),
        (lambda runs: us.fidelity(runs, 3), "'reference' is a int; give the Runs"),
        (lambda runs: us.fidelity({"a": runs}, runs), "'runs' is a dict; give the Runs"),
    ],
)
def test_every_measure_refuses_what_are_not_runs(measure, message, runs_of):
    with pytest.raises(ContractError, match=re.escape(message)):
        measure(runs_of([20, 30]))
