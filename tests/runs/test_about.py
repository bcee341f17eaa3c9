"""What runs are runs of: a typed record, which reads the files that earlier versions wrote as a dict."""

import json
from dataclasses import FrozenInstanceError, fields

import pytest

from understudy.learners import MonteCarlo, QLearning, Uniform
from understudy.runs import About, experiment, load
from understudy.runs.checking import ABOUT
from understudy.runs.folder import read_sealed
from understudy.simulators import psrs


def test_fields_are_those_that_files_hold_and_own_logs():
    assert [field.name for field in fields(About)] == [*ABOUT, "own_logs"]


def test_a_folder_holds_what_its_runs_say(log, make, tmp_path):
    runs = experiment(psrs(log), make, runs=2, max_steps=20, out=tmp_path / "out")
    content = read_sealed(tmp_path / "out" / "experiment.json", "")["about"]
    assert list(content) == list(ABOUT)  # files keep their format
    assert runs.about == load(tmp_path / "out").about == About.from_json(content, own_logs=False)
    told = json.loads(json.dumps(runs.about.to_json()))
    assert {name: told[name] for name in content} == content


def test_names_are_those_of_simulator_and_learner(log, make):
    about = experiment(psrs(log), make, runs=1, max_steps=5).about
    assert (about.simulator_name, about.learner_name) == ("psrs", QLearning.__name__)
    assert (About().simulator_name, About().learner_name) == (None, None)


@pytest.mark.parametrize(
    ("about", "independent"),
    [(About(), False), (About(own_logs=True), True), (About(kind="real"), True), (About(from_factory=True), False)],
)
def test_runs_are_independent_with_logs_of_their_own_or_none(about, independent):
    assert about.independent is independent


def test_a_delayed_learner_is_named_with_the_one_inside():
    assert About(learner={"class": "LinUCB"}).learner_name == "LinUCB"
    late = {"class": "Delayed", "learner": {"class": "LinUCB"}, "decisions": 3}
    assert About(learner=late).learner_name == "delayed LinUCB"
    assert About().learner_name is None


def test_a_fixed_policy_that_is_evaluated_goes_by_its_own_name(log):
    runs = experiment(psrs(log), lambda seed: MonteCarlo(Uniform(log.spec.n_actions)), runs=1, max_steps=5)
    assert runs.about.learner["class"] == "MonteCarlo"
    assert runs.about.learner_name == "Uniform"


def test_a_record_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        About().seed = 3


def test_names_that_are_not_known_are_passed_over():
    assert About.from_json({"seed": 3, "later": 4, "own_logs": True}) == About(seed=3)


def test_access_by_name_still_works_with_a_warning():
    with pytest.warns(DeprecationWarning, match=r"runs\.about\['seed'\] is deprecated; use runs\.about\.seed"):
        assert About(seed=3)["seed"] == 3
    with pytest.raises(KeyError, match="sed"):
        About()["sed"]


def test_fields_are_found_by_name_as_in_the_dict_of_before_with_a_warning():
    about = About(seed=3)
    for name, known in (("seed", True), ("log", True), ("sed", False), (0, False)):
        with pytest.warns(DeprecationWarning, match=r"in runs\.about is .*; use .* in runs\.about\.to_json\(\)"):
            assert (name in about) is known
        assert (name in about.to_json()) is known
    with pytest.warns(DeprecationWarning, match=r"runs\.about\.get\('seed'\) is deprecated; use runs\.about\.seed"):
        assert about.get("seed", 5) == 3
    with pytest.warns(DeprecationWarning, match=r"get\('sed'\)"):
        assert about.get("sed", 5) == 5
    with pytest.warns(DeprecationWarning, match=r"get\('sed'\)"):
        assert about.get("sed") is None


def test_a_record_cannot_be_iterated_over():
    with pytest.raises(TypeError, match="'About' object is not iterable"):
        list(About())
