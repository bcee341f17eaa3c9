"""Rows accepted at the moment a torch `Categorical` samples, so that scripts run on a log unchanged.

A script samples its action from a `Categorical` and hands it to the env. Under `accepting(env)` the log is asked at the
first of the two: the logged row is accepted by the distribution's probabilities, and its action is what was "sampled".
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.distributions import Categorical

_lock = threading.Lock()
_originals: list[Callable] = []  # the original method, once for each open block


class _Block:
    """An open block: the stage whose env may be acting in it; None hides those outside."""

    def __init__(self, stage: Any) -> None:
        self.stage = stage


class _Here(threading.local):
    """The blocks that are open in this thread, innermost last."""

    def __init__(self) -> None:
        self.blocks: list[_Block] = []


_here = _Here()


@contextmanager
def accepting(env: Any) -> Iterator[Any]:
    """While this block is open, a `Categorical` that is sampled where the env waits for an action accepts a logged row.

        with us.gym_env(us.psrs(log), seed=0) as env, us.learners.accepting(env):
            train(env)  # any script that samples a torch.distributions.Categorical

    The env may be a `gym_env`, a `vector_env`, or what wraps them. Only samples in this thread are touched, only of a
    distribution over the env's actions with one entry for each of its copies, and one for each step; another one
    before the step raises, since which is the learner's could not be told: put what is not meant for the env, such
    as an evaluation, under `as_ever()`. In a true environment nothing is touched.
    """
    with patched(), staged(stage_of(env)):
        yield env


@contextmanager
def as_ever() -> Iterator[None]:
    """While this block is open, samples in this thread are torch's own again."""
    with staged(None):
        yield


@contextmanager
def staged(stage: Any) -> Iterator[None]:
    """A stage as the innermost one of this thread."""
    blocks, block = _here.blocks, _Block(stage)
    blocks.append(block)
    try:
        yield
    finally:
        blocks.remove(block)  # generators may close theirs in any order, and in another thread


@contextmanager
def patched() -> Iterator[None]:
    """`Categorical.sample` looks for a stage of its thread, as long as any such block is open in any thread."""
    with _lock:
        if not _originals:
            original = Categorical.sample
            Categorical.sample = _sampler(original)  # type: ignore[method-assign]
        _originals.append(_originals[-1] if _originals else original)
    try:
        yield
    finally:
        with _lock:
            original = _originals.pop()
            if not _originals:
                Categorical.sample = original  # type: ignore[method-assign]


def _sampler(original: Callable) -> Callable:
    def sample(self: Categorical, sample_shape: Any = torch.Size()) -> torch.Tensor:  # noqa: B008 (torch's own default)
        stage = _stage_for(self, sample_shape) if _here.blocks else None
        if stage is None:
            return original(self, sample_shape)
        probs = self.probs.detach()
        actions = stage.accept(probs.to("cpu", torch.float64).reshape(stage.n, stage.n_actions).numpy())
        served = torch.from_numpy(actions).to(probs.device).reshape(self.batch_shape)
        # A copy whose episode is over takes no action: what it is told to do is as good as any.
        return served if actions.min() >= 0 else torch.where(served >= 0, served, original(self))

    return sample


def _stage_for(distribution: Categorical, sample_shape: Any) -> Any:
    """The innermost stage of this thread that waits for such a sample, or None."""
    taken = False
    for stage in (block.stage for block in reversed(_here.blocks)):
        if stage is None:
            break
        if stage.is_real or stage.reading or not _fits(distribution, sample_shape, stage):
            continue
        if stage.has_pending:
            taken = True
        elif stage.waiting.any():
            return stage
    if taken:
        raise RuntimeError(
            "a second Categorical was sampled before env.step, and which of the two is the learner's cannot be told; "
            "sample once for each step, and put what is not for this env under understudy.learners.as_ever()"
        )
    return None


def _fits(distribution: Categorical, sample_shape: Any, stage: Any) -> bool:
    shapes = [(), (1,)] if stage.n == 1 else [(stage.n,)]
    events = distribution.param_shape[-1]
    return not tuple(sample_shape) and events == stage.n_actions and tuple(distribution.batch_shape) in shapes


def stage_of(env: Any) -> Any:
    """The stage behind an env, a vector env, or what wraps them."""
    layer = getattr(env, "unwrapped", env)
    while not hasattr(layer, "stage"):
        inner = getattr(layer, "envs", None) or [getattr(layer, "venv", None)]
        if inner[0] is None:
            raise TypeError(f"{env!r} is no env of a simulator; make one with us.gym_env or us.vector_env")
        layer = getattr(inner[0], "unwrapped", inner[0])
    return layer.stage
