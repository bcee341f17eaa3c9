"""PPO in one file, in the manner of CleanRL: it knows nothing of logs. The few lines that run it on one are at the end.

python examples/cleanrl_ppo.py
"""

import gymnasium
import numpy as np
import torch
from gymnasium.vector import AutoresetMode, VectorEnv
from torch import nn
from torch.distributions import Categorical

import understudy as us


class Agent(nn.Module):
    """A policy and a critic, each with one hidden layer."""

    def __init__(self, observation_space: gymnasium.Space, n_actions: int, width: int = 32) -> None:
        super().__init__()
        self.space = observation_space
        n_inputs = gymnasium.spaces.flatdim(observation_space)
        self.actor = nn.Sequential(nn.Linear(n_inputs, width), nn.Tanh(), nn.Linear(width, n_actions))
        self.critic = nn.Sequential(nn.Linear(n_inputs, width), nn.Tanh(), nn.Linear(width, 1))
        nn.init.zeros_(self.actor[-1].weight)

    def features(self, observations: np.ndarray) -> torch.Tensor:
        """Observations as the networks take them: integers one-hot, all else flat."""
        if isinstance(self.space, gymnasium.spaces.Discrete):
            return nn.functional.one_hot(torch.as_tensor(observations), int(self.space.n)).float()
        return torch.as_tensor(observations, dtype=torch.float32).flatten(1)

    def value(self, features: torch.Tensor) -> torch.Tensor:
        """What the critic takes each observation to be worth."""
        return self.critic(features).squeeze(-1)

    def policies(self, observations: np.ndarray) -> np.ndarray:
        """The probability of each action at each observation, for probes."""
        with torch.no_grad():
            return Categorical(logits=self.actor(self.features(observations))).probs.double().numpy()


def train(
    agent: Agent,
    envs: VectorEnv,
    seed: int,
    *,
    total_steps: int = 20_000,
    n_steps: int = 64,
    epochs: int = 5,
    n_batches: int = 4,
    learning_rate: float = 3e-3,
    gamma: float = 0.95,
    trace: float = 0.95,
    clip: float = 0.2,
    entropy_bonus: float = 0.01,
) -> None:
    """Train in a vector environment that resets an episode in the step that ends it."""
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(agent.parameters(), learning_rate, eps=1e-5)
    n_envs, n_updates = envs.num_envs, total_steps // (n_steps * envs.num_envs)
    observations, _ = envs.reset(seed=seed)
    for update in range(n_updates):
        optimizer.param_groups[0]["lr"] = learning_rate * (1 - update / n_updates)

        # Act.
        seen, actions, log_probs, values = [], [], [], []
        rewards, following, over = (torch.zeros(n_steps, n_envs) for _ in range(3))
        for t in range(n_steps):
            features = agent.features(observations)
            with torch.no_grad():
                policy = Categorical(logits=agent.actor(features))
                action = policy.sample()
                values.append(agent.value(features))
            seen.append(features)
            actions.append(action)
            log_probs.append(policy.log_prob(action))
            observations, reward, terminated, truncated, told = envs.step(action.numpy())
            rewards[t] = torch.as_tensor(reward)
            ended = terminated | truncated
            over[t] = torch.as_tensor(ended)
            after = observations.copy()  # where the step led: of an ended episode, not where the next one opens
            for place in np.flatnonzero(ended):
                after[place] = told["final_obs"][place]
            with torch.no_grad():
                following[t] = agent.value(agent.features(after)) * torch.as_tensor(~terminated)

        # Advantages, backwards.
        advantage, advantages = torch.zeros(n_envs), torch.zeros(n_steps, n_envs)
        for t in reversed(range(n_steps)):
            error = rewards[t] + gamma * following[t] - values[t]
            advantages[t] = advantage = error + gamma * trace * (1 - over[t]) * advantage

        # Learn.
        flat = [torch.stack(part).flatten(0, 1) for part in (seen, actions, log_probs, values)]
        x, a, old, v = flat
        gain = advantages.flatten()
        for _ in range(epochs):
            for batch in torch.randperm(len(a), generator=generator).chunk(n_batches):
                policy = Categorical(logits=agent.actor(x[batch]))
                ratio = (policy.log_prob(a[batch]) - old[batch]).exp()
                gained = (gain[batch] - gain[batch].mean()) / (gain[batch].std() + 1e-8)
                surrogate = torch.min(ratio * gained, ratio.clamp(1 - clip, 1 + clip) * gained).mean()
                critic_loss = (agent.value(x[batch]) - (gain + v)[batch]).square().mean()
                loss = 0.5 * critic_loss - surrogate - entropy_bonus * policy.entropy().mean()
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
                optimizer.step()


def rehearse(env: gymnasium.Env, seed: int, n_envs: int = 4, **options: float) -> None:
    """The same on the env of a simulator, n copies of it: all that had to be written for the log."""
    torch.manual_seed(seed)
    envs = us.vector_env(env, n_envs, autoreset_mode=AutoresetMode.SAME_STEP)
    env.learner = Agent(envs.single_observation_space, int(envs.single_action_space.n))
    with us.learners.accepting(envs):
        train(env.learner, envs, seed, **options)


if __name__ == "__main__":
    torch.set_num_threads(1)  # such small networks gain nothing from more
    grid = us.envs.Grid(slip=0.2)
    log = us.record(grid, episodes=1000, seed=0)
    make = us.learners.script(rehearse, total_steps=10_000)
    probes = {"return": us.probes.episode_returns}
    for simulator in (us.psrs(log), us.real(grid)):
        run = us.simulate(simulator, make(0), seed=0, max_steps=10_000, probes=probes, every=1000)
        print(simulator, run, np.round(run.curves["return"], 2), sep="\n  ")
