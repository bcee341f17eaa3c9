"""Every flag of `simulate` and `compare` changes what it is given for, or is refused in a sentence."""

import numpy as np
import pytest

import understudy as us
from tests.cli.test_choices import options_of
from understudy.cli.choices import learner_for, simulator_for, simulators_of
from understudy.cli.compare import settings_of
from understudy.cli.flags import SIMULATORS, build_parser
from understudy.cli.simulate import run_simulate
from understudy.cli.unused import SIMULATORS_WITH, USERS, refuse_unused_encoder, unused_times
from understudy.cli.values import LEARNER_SETTINGS, LEARNERS
from understudy.errors import SettingError

CODES = us.record(us.envs.Grid(), episodes=30, seed=0)
ARMS = us.record(us.envs.BernoulliBandit([0.2, 0.6, 0.4]), episodes=60, seed=0)
FLOATS = us.record(us.envs.LinearBandit(3, 4, seed=1), episodes=60, seed=0)
TWO_VALUES = {
    "epsilon": ("0.2", "0.3"), "alpha": ("0.5", "0.3"), "gamma": ("0.9", "0.8"), "initial": ("1", "2"),
    "epoch-steps": ("100", "200"), "stack-size": ("3", "4"), "exploration": ("0.5", "2"), "noise": ("0.5", "2"),
    "ridge": ("2", "3"), "delay": ("5", "6"), "batch": ("5", "6"), "period": ("60", "hour"),
}  # fmt: skip
"""Two values of each flag, one of which may be its default."""

OF_ALL = ("delay", "batch", "period")
"""Settings of how a learner is deployed; see test_deployment.py."""

COMMANDS = dict.fromkeys(
    ("demo", "check", "convert", "forecast", "simulate", "compare", "sweep", "report"), run_simulate
)


def log_for(learner):
    return FLOATS if "lin" in learner else ARMS if learner in ("thompson", "exp3") else CODES


def settings_of_learner(learner):
    """What a learner was made with; how many are trained together does not belong to what it is."""
    return repr((learner.settings, vars(learner).get("stack_size")))


def settings_with(learner, setting, value):
    """What the learner is that `simulate --learner NAME --SETTING VALUE` makes."""
    options = options_of("--learner", learner, f"--{setting}", value)
    return settings_of_learner(learner_for(log_for(learner), None, options)[0](0))


def settings_compared(learner, setting, value):
    """What the learner is that `compare --learner NAME:SETTING=VALUE` makes."""
    options = build_parser(COMMANDS).parse_args(["compare", "LOG", "--learner", learner])
    return settings_of_learner(
        learner_for(log_for(learner), None, settings_of(f"{learner}:{setting}={value}", options))[0](0)
    )


def test_the_table_has_every_setting():
    assert TWO_VALUES.keys() == LEARNER_SETTINGS.keys()
    assert {name.replace("-", "_") for name in TWO_VALUES} - set(OF_ALL) == USERS.keys() - {"no_scaling"}
    assert {learner for users in USERS.values() for learner in users} <= set(LEARNERS)


@pytest.mark.parametrize("make", [settings_with, settings_compared])
@pytest.mark.parametrize("setting", [name for name in TWO_VALUES if name not in OF_ALL])
@pytest.mark.parametrize("learner", LEARNERS)
def test_a_setting_changes_the_learner_or_is_refused(learner, setting, make):
    values = TWO_VALUES[setting]
    if learner not in USERS[setting.replace("-", "_")]:
        for value in values:
            with pytest.raises(SettingError, match=f"--{setting} is for .*, and not for {learner}; leave it out"):
                make(learner, setting, value)
        return
    if learner == "ppo":
        pytest.importorskip("torch")
    one, other = (make(learner, setting, value) for value in values)
    assert one != other


def test_no_scaling_is_for_linear_learners():
    for learner in LEARNERS:
        plain = options_of("--learner", learner, "--no-scaling")
        if learner in ("linucb", "linear-thompson"):
            scaled = learner_for(FLOATS, None, options_of("--learner", learner))[0](0)
            assert repr(scaled.settings) != repr(learner_for(FLOATS, None, plain)[0](0).settings)
        else:
            with pytest.raises(SettingError, match=f"--no-scaling is for linucb .* and not for {learner}"):
                learner_for(log_for(learner), None, plain)


def test_a_default_is_not_given():
    greedy = learner_for(CODES, None, options_of("--learner", "epsilon-greedy"))[0](0)
    constant = learner_for(CODES, None, options_of("--learner", "epsilon-greedy", "--alpha", "0.5"))[0](0)
    assert (greedy.alpha, constant.alpha) == (None, 0.5)
    for seen in (greedy, constant):
        for reward in (1.0, 0.0):
            seen.learn(us.contracts.Step(0, 0, reward, 0, True, False))
    assert (greedy.means[0, 0], constant.means[0, 0]) == (0.5, 0.25)


def test_flags_of_compare_are_for_those_learners_that_have_them(refused, tmp_path):
    us.write(ARMS, tmp_path / "arms.parquet")
    learners = ["--learner", "epsilon-greedy", "--learner", "ucb1"]
    options = build_parser(COMMANDS).parse_args(["compare", "LOG", *learners, "--alpha", "0.25", "--no-scaling"])
    assert settings_of("epsilon-greedy", options).given == ("alpha",)
    assert settings_of("ucb1", options).given == ()
    assert not settings_of("ucb1", options).no_scaling
    command = ["compare", tmp_path / "arms.parquet", *learners]
    assert "--ridge is for linucb and linear-thompson, and not for epsilon-greedy or ucb1" in refused(
        *command, "--ridge", "2"
    )
    assert "--alpha is for q-learning, expected-sarsa and epsilon-greedy, and not for ucb1" in refused(
        *command, "--learner", "ucb1:alpha=0.2"
    )


def test_a_learner_of_ones_own_has_settings_of_its_own():
    with pytest.raises(SettingError, match="not for a learner of your own, whose settings are in its class"):
        learner_for(CODES, None, options_of("--learner", "mine:Greedy", "--epsilon", "0.2"))


CLOCKED = us.record(us.envs.CounterGrid(4, size=3), episodes=100, seed=0)
"""A log with an exogenous part."""

OPTIONS = {
    "order": ("log", "episodes"),
    "openings": ("queue", "replacement"),
    "max_episode_steps": ("5", "6"),
    "bound": ("7", "8"),
    "then": ("cut", "like"),
}


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("name", SIMULATORS)
def test_an_option_changes_the_simulator_or_is_refused(name, option):
    def settings(value):
        options = options_of("--simulator", name, f"--{option.replace('_', '-')}", value)
        log = CLOCKED if name == "exo_psrs" else ARMS
        (one,) = simulators_of(log, options)
        return repr(simulator_for(one, log, None, options).settings)

    if name in SIMULATORS_WITH[option]:
        assert settings(OPTIONS[option][0]) != settings(OPTIONS[option][1])
    else:
        with pytest.raises(SettingError, match=f"--{option.replace('_', '-')} is for .*, and not for {name}; leave"):
            settings(OPTIONS[option][0])


def test_an_option_is_for_those_simulators_that_have_it():
    options = options_of("--simulator", "psrs", "any_row", "replay", "--order", "log", "--openings", "replacement")
    assert simulators_of(ARMS, options) == ["psrs", "any_row", "replay"]
    assert simulator_for("psrs", ARMS, None, options).settings["order"] == "log"
    assert simulator_for("replay", ARMS, None, options).settings["order"] == "log"
    assert simulator_for("any_row", ARMS, None, options).settings["openings"] == "replacement"


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--radius", "0.1"], "--radius is for the rung like or untried, which --then does not name; add"),
        (
            ["--radius", "0.1", "--then", "reuse,cut"],
            "--radius is for the rung like or untried, which --then does not name",
        ),
        (["--max-cut", "0.1", "--then", "like"], "--max-cut is for the rung cut, which --then does not name; add it"),
    ],
)
def test_options_of_rungs_that_are_not_named_are_refused(flags, said):
    with pytest.raises(SettingError, match=said):
        simulators_of(ARMS, options_of("--simulator", "qbe", *flags))
    simulators_of(ARMS, options_of("--simulator", "qbe", "--then", "untried,cut", "--radius", "1", "--max-cut", "0.1"))


def test_rows_are_not_shuffled_where_there_are_no_queues(refused, tmp_path):
    us.write(ARMS, tmp_path / "arms.parquet")
    said = refused("simulate", tmp_path / "arms.parquet", "--bandit", "--order", "rows", "--out", tmp_path / "out")
    assert "--order rows shuffles rows among queues, and replay has none; give --order episodes" in said


@pytest.mark.parametrize("learner", [*LEARNERS, "mine:Greedy"])
def test_an_encoder_makes_states_for_the_learner_or_the_simulator_or_is_refused(learner):
    boxes = options_of("--encoder", "boxes")
    refuse_unused_encoder(boxes, [learner], ["psrs"])
    refuse_unused_encoder(boxes, [learner, "thompson"], ["replay"])
    if learner in ("linucb", "linear-thompson", "ppo", "uniform", "mine:Greedy"):
        with pytest.raises(SettingError, match=f"which replay does not use, and {learner} sees observations as they"):
            refuse_unused_encoder(boxes, [learner], ["replay"])
    else:
        refuse_unused_encoder(boxes, [learner], ["replay"])
        kept = us.encoders.Boxes(bins=2).fit(FLOATS)
        log = FLOATS if learner not in ("thompson", "exp3") else us.Log.from_columns(
            observation=FLOATS.observation, action=FLOATS.action, reward=np.ones(len(FLOATS)), ends="every-row"
        )  # fmt: skip
        made = learner_for(log, kept, options_of("--learner", learner))[0](0)
        assert made.settings["n_observations"] == kept.n_states


def test_settings_of_other_encoders_are_refused():
    for flags in (["--bins", "5"], ["--bins", "3", "--encoder", "kmeans"], ["--states", "9", "--encoder", "boxes"]):
        with pytest.raises(SettingError, match=f"{flags[0]} is for --encoder"):
            refuse_unused_encoder(options_of(*flags), ["q-learning"], ["psrs"])
    refuse_unused_encoder(options_of("--bins", "5", "--encoder", "boxes"), ["q-learning"], ["psrs"])


def test_a_time_that_nothing_goes_by_is_said():
    for flags, is_used in (([], False), (["--period", "day"], True), (["--delay", "arrival"], True)):
        options = options_of("--time", "at", *flags)
        note = unused_times(options, [options])
        assert (note is None) == is_used
        assert is_used or note.startswith("time: rows are in its order, and nothing else goes by it")
