"""Every protocol says what is promised and gained, and our own parts offer exactly the protocols that they should."""

import inspect
from dataclasses import replace

import numpy as np
import pytest

import understudy.contracts as contracts
from understudy.contracts.offering import members_of, offers
from understudy.encoders import exogenous_split
from understudy.encoders.exogenous_playing import Playing
from understudy.envs import CounterGrid
from understudy.learners import PPO, ExpectedSarsa, FixedPolicy, MonteCarlo, QLearning, Uniform, sb3, script
from understudy.logs import Log, Spec
from understudy.simulators import actions_only, any_row, exo_psrs, model, psrs, qbe, real, states_only

PROTOCOLS = {
    name: part
    for name in contracts.__all__
    if inspect.isclass(part := getattr(contracts, name)) and getattr(part, "_is_protocol", False)
}
NEEDED = {"Learner", "LoopOwner", "Simulator", "Rehearsal", "Encoder", "Encodes"}
"""What a learner, a simulator and an encoder cannot do without; all others are optional."""

ENV = CounterGrid(2, size=3)
LOG = Log.from_columns(**ENV.rollout(np.full((18, 5), 0.2), 20, seed=0))


@pytest.mark.parametrize("name", PROTOCOLS)
def test_every_protocol_can_be_checked_and_says_what_is_gained(name):
    protocol = PROTOCOLS[name]
    assert protocol._is_runtime_protocol
    assert members_of(protocol)
    assert name in NEEDED or "Gained" in protocol.__doc__ or "Promised" in protocol.__doc__


@pytest.mark.parametrize("name", PROTOCOLS)
def test_every_method_of_a_protocol_says_what_it_does(name):
    methods = [part for part in vars(PROTOCOLS[name]).values() if inspect.isfunction(part)]
    own = [method for method in methods if method.__module__.startswith("understudy")]
    assert all(method.__doc__ for method in own if not method.__name__.startswith("_") or method.__name__ == "__call__")


def stable_baselines():
    import stable_baselines3

    return sb3(stable_baselines3.PPO, total_timesteps=10)(0)


COMPILED = {"Learner", "CompiledLearner", "HasCodes", "HasActionCount", "HasSettings"}
TRAINED = COMPILED | {"HasLearnedState"}
LEARNERS = {
    "QLearning": (lambda: QLearning(3, 2), TRAINED | {"HasClock", "HasValue", "HasValues"}),
    "ExpectedSarsa": (lambda: ExpectedSarsa(3, 2), TRAINED | {"HasClock", "HasValue", "HasValues"}),
    "Uniform": (lambda: Uniform(2), TRAINED),
    "FixedPolicy": (lambda: FixedPolicy([0.5, 0.5]), COMPILED),
    "MonteCarlo": (lambda: MonteCarlo(Uniform(2)), TRAINED | {"HasEstimate", "HearsCuts"}),
    "PPO": (
        lambda: PPO(Spec(2, None, (1,), np.dtype(float), None), hidden=(2,), epoch_steps=4),
        {"Learner", "BatchLearner", "EpochLearner", "StackedLearner", "EpisodeAbandoner", "HasValue", "HasValues",
         "HearsCuts", "HasActionCount", "HasSettings", "HasLearnedState", "HasStackSize", "HasDevice",
         "CompiledEpochs"},
    ),
    "script": (lambda: script(lambda env, seed: None)(0), {"LoopOwner", "HasSettings"}),
    "sb3": (
        stable_baselines,
        {"LoopOwner", "HasPlannedSteps", "HasObservationSpace", "BatchLearner", "HasValue", "HasValues", "HasSettings"},
    ),
}  # fmt: skip

SIMULATED = {
    "Simulator", "CompiledSimulator", "SharedSimulator", "HasLog", "HasIndex", "HasKind", "HasStateCount",
    "HasActionCount", "HasSettings", "SaysEmissionsServed", "SaysRowsServed", "SaysWhetherExhaustible",
    "SelectsEpisodes",
}  # fmt: skip
ORACLES = {"split": ENV.split, "merge": ENV.merge, "reward": ENV.reward}
REPLAYED = SIMULATED | {"RepeatableSimulator"}


def forward():
    """`exo_psrs` of a log whose exogenous part goes on through resets."""
    log = Log.from_columns(**ENV.rollout(np.full((18, 5), 0.2), 60, seed=0))
    return exo_psrs(log, replace(exogenous_split(log), playing=Playing("onward", False, True, "said")))


SIMULATORS = {
    "psrs": (lambda: psrs(LOG), REPLAYED),
    "qbe": (lambda: qbe(LOG), REPLAYED),
    "ladder": (lambda: qbe(LOG, then="cut"), SIMULATED | {"HasLadder"}),
    "states_only": (lambda: states_only(LOG), REPLAYED),
    "actions_only": (lambda: actions_only(LOG), REPLAYED),
    "any_row": (lambda: any_row(LOG), REPLAYED),
    "model": (lambda: model(LOG), SIMULATED),
    "exo_psrs": (lambda: exo_psrs(LOG, **ORACLES), REPLAYED | {"HasObservations"}),
    "exo_psrs, played forward": (forward, REPLAYED | {"HasObservations"}),
    "real": (lambda: real(ENV), (SIMULATED - {"HasIndex", "SelectsEpisodes"}) | {"HasEnv"}),
}

REHEARSALS = {"Rehearsal", "CompiledRehearsal", "HasOpening", "HasRung", "HasState", "TellsStop", "TellsUse"}


def offered(part):
    return {name for name, protocol in PROTOCOLS.items() if offers(part, protocol)}


@pytest.mark.parametrize("name", LEARNERS | SIMULATORS)
def test_our_parts_offer_what_they_should_and_nothing_else(name):
    make, expected = (LEARNERS | SIMULATORS)[name]
    assert offered(make()) - {"CountsStates"} == expected  # an encoder's name for what HasStateCount has, too


@pytest.mark.parametrize("name", SIMULATORS)
def test_rehearsals_of_ours_offer_all_they_can(name):
    rehearsal = SIMULATORS[name][0]().start(0)
    rehearsal.begin()
    assert offered(rehearsal) == REHEARSALS


def test_exported_names_are_those_of_the_protocols_modules():
    modules = (
        contracts.learning,
        contracts.ladders,
        contracts.late_learning,
        contracts.simulating,
        contracts.consumption,
        contracts.sharing,
        contracts.probing,
        contracts.backing,
        contracts.encoding,
        contracts.likeness,
    )
    defined = {
        name
        for module in modules
        for name, part in vars(module).items()
        if inspect.isclass(part) and getattr(part, "_is_protocol", False) and part.__module__ == module.__name__
    }
    assert defined == set(PROTOCOLS)
