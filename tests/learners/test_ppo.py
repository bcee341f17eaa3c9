"""PPO does what it says: bootstraps and updates are right, and no result depends on the stack."""

import subprocess
import sys

import gymnasium
import numpy as np
import pytest
import torch

from understudy.contracts import Step, Steps
from understudy.contracts.devices import one_thread
from understudy.envs import Grid
from understudy.errors import ContractError, SettingError, UsageError
from understudy.learners import PPO, ppo_training
from understudy.learners.networks import as_input, forward
from understudy.learners.ppo_training import estimate_advantages, surrogate_slope
from understudy.logs import Log, Spec
from understudy.runs import simulate
from understudy.simulators import psrs

PLANE = Spec(5, None, (2,), np.dtype(float), None)
SMALL = {"epoch_steps": 200, "policy_iterations": 6, "value_iterations": 6}


def steps_of(n, seed=0, terminated=0.02, truncated=0.02):
    rng = np.random.default_rng(seed)
    x, action = rng.random((n + 1, 2)), rng.integers(5, size=n)
    over = rng.random(n) < terminated
    reward = rng.normal(size=n) + (action == 1)
    return Steps(x[:-1], action, reward, x[1:], over, ~over & (rng.random(n) < truncated))


def trained(seed, updates=2, **settings):
    """A learner that has collected a last epoch, and is due for an update."""
    learner = PPO(PLANE, seed=seed, **(SMALL | settings))
    for epoch in range(updates):
        learner.collect(steps_of(learner.epoch_steps, seed=(seed, epoch)))
        if epoch < updates - 1:
            learner.update()
    return learner


def finished(learner):
    return learner._epoch.finished(learner._values_of, learner.gamma, learner.lam)


def weights(learner):
    return torch.cat([learner._policy.weight[0], learner._value.weight[0]]).numpy()


def test_the_papers_settings_are_the_defaults():
    told = PPO(PLANE).settings
    assert told["hidden"] == (32, 32)
    assert (told["gamma"], told["lam"], told["clip"], told["target_kl"]) == (0.99, 0.97, 0.2, 0.01)
    assert (told["policy_rate"], told["value_rate"]) == (3e-4, 1e-3)
    assert (told["policy_iterations"], told["value_iterations"], told["epoch_steps"]) == (80, 80, 5000)


def test_a_seed_decides_everything_and_no_global_generator_is_touched():
    before = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002 (to see that nobody uses it)
    one, same, other = trained(1), trained(1), trained(2)
    for learner in (one, same, other):
        learner.update()
    np.testing.assert_array_equal(weights(one), weights(same))
    assert (weights(one) != weights(other)).mean() > 0.9
    assert torch.equal(before[0], torch.get_rng_state())
    np.testing.assert_array_equal(before[1], np.random.get_state()[1])  # noqa: NPY002


# Estimates.


def expected_epoch(learner, steps, bootstraps):
    """Advantages and targets where what follows a step is worth what `bootstraps` says of its kind."""
    value, after = learner.values(steps.observation), learner.values(steps.next_observation)
    last = np.arange(len(value)) == len(value) - 1
    over = steps.terminated | steps.truncated | last
    kind = np.where(steps.terminated, "terminal", np.where(steps.truncated, "cut", np.where(last, "end", "inside")))
    after = np.where(np.isin(kind, bootstraps), after, 0.0)
    advantage, target = np.empty((2, len(value)))
    estimate_advantages(steps.reward, value, after, over, learner.gamma, learner.lam, advantage, target)
    return (advantage - advantage.mean()) / advantage.std(), target


def test_cuts_and_the_epochs_end_are_bootstrapped_and_terminals_are_not():
    learner, steps = PPO(PLANE, seed=3, **SMALL), steps_of(200, seed=5)
    assert steps.truncated.sum() >= 2
    assert steps.terminated.sum() >= 2
    assert not steps.terminated[-1]
    assert not steps.truncated[-1]
    learner.collect(steps)
    advantage, target = finished(learner)[2:]
    right = ["inside", "cut", "end"]
    for got, wanted in zip((advantage, target), expected_epoch(learner, steps, right), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=1e-6)
    for wrong in (["inside", "end"], ["inside", "cut"], [*right, "terminal"]):
        assert np.abs(expected_epoch(learner, steps, wrong)[1] - target).max() > 1e-3


@pytest.mark.parametrize(("terminated", "truncated"), [(True, False), (False, True)])
def test_an_epoch_that_ends_with_an_episode_is_told_from_one_that_does_not(terminated, truncated):
    steps = steps_of(200, seed=5)
    steps.terminated[-1], steps.truncated[-1] = terminated, truncated
    learner = PPO(PLANE, seed=3, **SMALL)
    learner.collect(steps)
    wanted = expected_epoch(learner, steps, ["inside", "cut", "end"])
    np.testing.assert_allclose(finished(learner)[3], wanted[1], rtol=1e-6, atol=1e-6)


def test_steps_collected_one_by_one_or_in_pieces_make_the_same_learner():
    whole, single, pieces = (PPO(PLANE, seed=1, **SMALL) for _ in range(3))
    steps = steps_of(200, seed=7)
    whole.collect(steps)
    whole.update()
    for place in range(200):
        single.learn(Step(*(part[place] for part in steps)))
    for begin in range(0, 200, 64):
        pieces.collect(Steps(*(part[begin : begin + 64] for part in steps)))
    assert (single.epochs, single.steps_until_update, pieces.epochs, pieces.steps_until_update) == (1, 200, 0, 0)
    pieces.update()
    for learner in (single, pieces):
        np.testing.assert_array_equal(weights(learner), weights(whole))


# Gradients and updates, against torch's own.


def modules(networks, place):
    """One of some networks, as torch's own layers."""
    layers = []
    for matrix in networks.layers():
        linear = torch.nn.Linear(matrix.shape[2] - 1, matrix.shape[1])
        linear.weight.data, linear.bias.data = matrix[place, :, :-1].clone(), matrix[place, :, -1].clone()
        layers += [linear, torch.nn.ReLU()]
    return torch.nn.Sequential(*layers[:-1])


def flat(parts):
    """Weights and biases of torch's layers in the order that ours have."""
    return torch.cat([torch.cat([weight, bias[:, None]], 1).flatten() for weight, bias in zip(*parts, strict=True)])


class Adam:
    """As Kingma and Ba write it (torch's own takes seconds to import)."""

    def __init__(self, parameters, rate):
        self.parameters, self.rate, self.t = list(parameters), rate, 0
        self.means = [[torch.zeros_like(p), torch.zeros_like(p)] for p in self.parameters]

    def step(self):
        self.t += 1
        for p, means in zip(self.parameters, self.means, strict=True):
            means[0] = 0.9 * means[0] + 0.1 * p.grad
            means[1] = 0.999 * means[1] + 0.001 * p.grad**2
            first, second = means[0] / (1 - 0.9**self.t), means[1] / (1 - 0.999**self.t)
            p.data -= self.rate * first / (second.sqrt() + 1e-8)
            p.grad = None


def reference_update(learner):
    """Spinning Up's update with torch's own modules and autograd; policy, value and its policy iterations."""
    seen, action, advantage, target = (torch.from_numpy(np.array(part)) for part in finished(learner))
    x, advantage, target = seen.float(), advantage.float(), target.float()
    policy, value = modules(learner._policy, 0), modules(learner._value, 0)
    rates = {policy: learner.policy_rate, value: learner.value_rate}
    adam = {network: Adam(network.parameters(), rate) for network, rate in rates.items()}
    before, n = None, 0
    for _ in range(learner.policy_iterations):
        log_taken = torch.log_softmax(policy(x), 1).gather(1, action[:, None])[:, 0]
        before = log_taken.detach() if before is None else before
        if (before - log_taken).mean() > 1.5 * learner.target_kl:
            break
        ratio = torch.exp(log_taken - before)
        clipped = torch.clamp(ratio, 1 - learner.clip, 1 + learner.clip) * advantage
        (-torch.min(ratio * advantage, clipped).mean()).backward()
        adam[policy].step()
        n += 1
    for _ in range(learner.value_iterations):
        ((value(x)[:, 0] - target) ** 2).mean().backward()
        adam[value].step()
    return policy, value, n


@pytest.mark.parametrize("target_kl", [10.0, 0.01])
def test_an_update_is_the_one_that_torch_would_make(target_kl):
    settings = {"policy_iterations": 30, "value_iterations": 30, "target_kl": target_kl, "policy_rate": 2e-3}
    learner = trained(4, updates=1, **settings)
    with one_thread():
        policy, value, n = reference_update(learner)
    learner.update()
    assert learner._policy.counts == [n]
    assert (n < 30) == (target_kl == 0.01)
    for ours, theirs in ((learner._policy, policy), (learner._value, value)):
        parameters = list(theirs.parameters())
        np.testing.assert_allclose(
            torch.cat([layer.flatten() for layer in ours.layers()]),
            flat((parameters[::2], parameters[1::2])).detach(),
            atol=2e-5,
        )


# Stacks.


@pytest.mark.parametrize("target_kl", [0.01, 0.0005])
def test_weights_do_not_depend_on_the_stack_to_the_last_bit(target_kl):
    settings = {"epoch_steps": 1003, "policy_iterations": 20, "value_iterations": 20, "target_kl": target_kl}
    alone = [trained(seed, **settings) for seed in range(10)]
    for learner in alone:
        learner.update()
    iterations = {learner._policy.counts[0] for learner in alone}
    assert (len(iterations) > 2) == (target_kl == 0.0005)  # some leave the stack before others
    for size in (2, 3, 10):
        stack = [trained(seed, **settings) for seed in range(size)]
        PPO.update_all(stack)
        for one, other in zip(stack, alone, strict=False):
            np.testing.assert_array_equal(weights(one), weights(other))
            np.testing.assert_array_equal(one._policy.second_moment, other._policy.second_moment)


def test_the_size_of_a_stack_is_a_setting_that_results_on_the_cpu_do_not_depend_on():
    assert PPO(PLANE, device="cpu").stack_size == 10
    ten, three = ([trained(seed, device="cpu", stack_size=size) for seed in range(7)] for size in (10, 3))
    assert ten[0].settings == three[0].settings
    assert ten[0].stack_key != three[0].stack_key
    for stack in (ten, three):
        PPO.update_all(stack)
    for one, other in zip(ten, three, strict=True):
        np.testing.assert_array_equal(weights(one), weights(other))
    with pytest.raises(SettingError, match="stack_size"):
        PPO(PLANE, stack_size=0)


def test_weights_do_not_depend_on_the_number_of_threads():
    before, results = torch.get_num_threads(), []
    try:
        for n_threads in (1, 2):
            torch.set_num_threads(n_threads)
            stack = [trained(seed, epoch_steps=5000) for seed in range(3)]
            PPO.update_all(stack)
            results.append([weights(learner) for learner in stack])
            assert torch.get_num_threads() == n_threads
    finally:
        torch.set_num_threads(before)
    np.testing.assert_array_equal(*results)


# Acting.


def test_a_policy_does_not_depend_on_the_batch_it_is_asked_in_as_it_would_in_single_precision():
    learner = trained(0, policy_rate=0.01)
    learner.update()
    x = np.random.default_rng(0).random((5000, 2))
    many, one_by_one = learner.policies(x), np.stack([learner.policy(point) for point in x[:500]])
    np.testing.assert_allclose(many.sum(1), 1.0, atol=1e-14)
    assert np.abs(many[:500] - one_by_one).max() < 1e-15
    assert np.abs(PPO.stacked_policies([learner] * 3)(x[:3]) - many[:3]).max() < 1e-15

    def single(points):
        return torch.softmax(forward(learner._policy.layers(), as_input(points[None]).float()), 1)[0].T.numpy()

    assert np.abs(single(x) - many).max() < 1e-6
    assert np.abs(single(x)[:500] - np.concatenate([single(x[i : i + 1]) for i in range(500)])).max() > 1e-9


def test_integers_are_seen_one_hot():
    learner = PPO(Spec(3, None, (), np.dtype(int), 6), seed=0)
    policies = learner.policies(np.arange(6))
    network = torch.nn.Sequential(modules(learner._policy, 0), torch.nn.Softmax(1))
    np.testing.assert_allclose(policies, network(torch.eye(6)).detach(), atol=1e-6)
    assert len(np.unique(policies.round(12), axis=0)) == 6
    assert learner.policy(4).tolist() == policies[4].tolist()


def test_observations_of_any_other_shape_are_flattened():
    image = PPO(Spec(3, None, (4, 3), np.dtype(np.uint8), None), seed=0)
    vector = PPO(Spec(3, None, (12,), np.dtype(np.uint8), None), seed=0)
    pixels = np.random.default_rng(0).integers(255, size=(7, 4, 3))
    np.testing.assert_array_equal(image.policies(pixels), vector.policies(pixels.reshape(7, 12)))


def test_ppo_can_be_made_from_an_environment():
    assert PPO(Grid()).settings["n_observations"] == 25
    assert PPO(gymnasium.make("CartPole-v1")).settings["observation_shape"] == (4,)


class Spaces(gymnasium.Env):
    """An environment that has spaces only."""

    def __init__(self, observations, actions):
        self.observation_space, self.action_space = observations, actions


def test_only_integers_from_0_up_are_one_hot_and_other_spaces_need_one_shape():
    flags = gymnasium.spaces.MultiBinary(3)
    assert PPO(Spaces(flags, gymnasium.spaces.Discrete(2))).spec == Spec(2, None, (3,), np.dtype(np.int8), None)
    for observations, actions, message in (
        (flags, gymnasium.spaces.Discrete(2, start=1), "actions are Discrete"),
        (flags, flags, "actions are MultiBinary"),
        (gymnasium.spaces.Dict(x=flags), gymnasium.spaces.Discrete(2), "observations are Dict"),
    ):
        with pytest.raises(SettingError, match=message):
            PPO(Spaces(observations, actions))


# Learning.


def greedy_value(learner, env):
    """What the greedy form of a policy is worth, exactly."""
    greedy = np.eye(5)[learner.policies(np.arange(env.n_observations)).argmax(1)]
    softened = 0.99 * greedy + 0.01 / 5  # so that every policy ends
    return env.values(softened, 0.99)[0]


@pytest.mark.parametrize("broken", [False, True])
def test_ppo_learns_on_a_small_grid_and_not_if_advantages_change_sign(broken, monkeypatch):
    if broken:
        monkeypatch.setattr(ppo_training, "surrogate_slope", lambda *given: -surrogate_slope(*given))
    env = Grid(size=3)
    log = Log.from_columns(**env.rollout(np.full((9, 5), 0.2), steps=200_000, seed=0))
    best = env.optimal(0.99)[0].max()
    values = []
    for seed in range(3):
        learner = PPO(log.spec, seed=seed, epoch_steps=500, policy_rate=3e-3, device="cpu")
        simulate(psrs(log), learner, seed, 7_500)
        assert learner.epochs >= 10
        values.append(greedy_value(learner, env))
    assert all(value > best - 0.1 for value in values) != broken


# Bad input.


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: PPO(gymnasium.make("Pendulum-v1")), SettingError, "actions are Box"),
        (lambda: PPO(3), ContractError, "log.spec"),
        (lambda: PPO(PLANE, gamma=1.5), SettingError, "gamma is 1.5"),
        (lambda: PPO(PLANE, epoch_steps=0), SettingError, "epoch_steps is 0"),
        (lambda: PPO(PLANE, policy_iterations=-1), SettingError, "policy_iterations is -1"),
        (lambda: PPO(PLANE, clip=float("nan")), SettingError, "clip is nan"),
        (lambda: PPO(PLANE, device="abacus"), SettingError, "no device 'abacus'"),
        (lambda: PPO(Spec(2, None, (), np.dtype(int), 10**7)), SettingError, "do not fit"),
        (lambda: PPO(PLANE).policy([0.1, 0.2, 0.3]), SettingError, "made for observations of shape"),
        (lambda: PPO(PLANE).policy([0.1, np.nan]), SettingError, "not finite"),
        (lambda: PPO(PLANE).policy(["a", "b"]), SettingError, "made for observations of shape"),
        (lambda: PPO(Spec(2, None, (), np.dtype(int), 4)).policy(4), SettingError, "from 0 to 3"),
        (lambda: PPO(Spec(2, None, (), np.dtype(int), 4)).policy(1.0), SettingError, "from 0 to 3"),
        (lambda: PPO(PLANE, **SMALL).collect(steps_of(201)), UsageError, "more than the 200"),
        (lambda: PPO(PLANE).learn(Step(np.zeros(2), 0, np.nan, np.zeros(2), False, False)), SettingError, "reward"),
    ],
)
def test_what_cannot_be_learned_from_is_refused_in_a_sentence(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_without_torch_the_error_tells_what_to_install():
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "import understudy as us\n"
        "assert us.learners.QLearning\n"
        "try: us.learners.PPO\n"
        "except ModuleNotFoundError as error: print(error)\n"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert told.startswith('PPO needs torch: pip install "torch>=2.2" (in the folder of')
