"""Rows accepted at the moment a torch `Categorical` samples, so that scripts run on a log unchanged.

A script samples its action from a `Categorical` and gives it to the env. Under `accepting(env)` a logged row is
accepted already when it samples, by the distribution's probabilities, and the sample is the action of that row.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.distributions import Categorical

from understudy.contracts import SharedRun
from understudy.contracts.offering import offers
from understudy.contracts.sharing import HasSharedRun
from understudy.contracts.wrappers import layers
from understudy.errors import ContractError, UsageError

_lock = threading.Lock()
_originals: list[Callable] = []  # the original method, once for each open block


class _Block:
    """An open block: the run whose envs may be acting in it; None hides those of outer blocks."""

    def __init__(self, run: SharedRun | None) -> None:
        self.run = run


class _OpenBlocks(threading.local):
    """The blocks that are open in this thread, innermost last."""

    def __init__(self) -> None:
        self.blocks: list[_Block] = []


_open = _OpenBlocks()


@contextmanager
def accepting(env: Any) -> Iterator[Any]:
    """While this block is open, a `Categorical` that is sampled where the env waits for an action accepts a logged row.

        with us.gym_env(us.psrs(log), seed=0) as env, us.learners.accepting(env):
            train(env)  # any script that samples a torch.distributions.Categorical

    The env may be a `gym_env`, a `vector_env`, or a wrapper of these. Only samples in this thread are changed, and only
    of a distribution over the env's actions with one entry for each of its copies. There must be one such sample for
    each step: a second one raises `UsageError`, since it is unknown which of the two is the learner's. Put samples that
    are not for the env, such as those of an evaluation, under `not_accepting()`. In a true environment nothing is
    changed.
    """
    with patched(), accepting_for(run_of(env)):
        yield env


@contextmanager
def not_accepting() -> Iterator[None]:
    """While this block is open, samples in this thread are torch's own again."""
    with accepting_for(None):
        yield


@contextmanager
def accepting_for(run: SharedRun | None) -> Iterator[None]:
    """While this block is open, samples in this thread are accepted for this run; for None, for no run."""
    blocks, block = _open.blocks, _Block(run)
    blocks.append(block)
    try:
        yield
    finally:
        blocks.remove(block)  # generators may close theirs in any order, and in another thread


@contextmanager
def patched() -> Iterator[None]:
    """While this block is open in any thread, `Categorical.sample` is ours: it looks for a run of its thread first."""
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
        run = _run_for(self, sample_shape) if _open.blocks else None
        if run is None:
            return original(self, sample_shape)
        probs = self.probs.detach()
        actions = run.accept(probs.to("cpu", torch.float64).reshape(run.n_copies, run.n_actions).numpy())
        served = torch.from_numpy(actions).to(probs.device).reshape(self.batch_shape)
        # A copy whose episode is over takes no action: any action will do.
        return served if actions.min() >= 0 else torch.where(served >= 0, served, original(self))

    return sample


def _run_for(distribution: Categorical, sample_shape: Any) -> SharedRun | None:
    """Return the innermost run of this thread that waits for such a sample, or None."""
    is_pending = False
    for run in (block.run for block in reversed(_open.blocks)):
        if run is None:
            break
        if run.is_real or run.is_reading or not _fits(distribution, sample_shape, run):
            continue
        if run.has_pending:
            is_pending = True
        elif run.waiting.any():
            return run
    if is_pending:
        raise UsageError(
            "a second Categorical was sampled before env.step, and it is unknown which of the two is the learner's; "
            "sample once for each step, and put samples that are not for this env under "
            "understudy.learners.not_accepting()"
        )
    return None


def _fits(distribution: Categorical, sample_shape: Any, run: SharedRun) -> bool:
    """True if a distribution is over the run's actions, with one entry for each of its copies."""
    shapes = [(), (1,)] if run.n_copies == 1 else [(run.n_copies,)]
    n_actions = distribution.param_shape[-1]
    return not tuple(sample_shape) and n_actions == run.n_actions and tuple(distribution.batch_shape) in shapes


def run_of(env: Any) -> SharedRun:
    """Return the run of an env, a vector env, or a wrapper of these. Raise `ContractError` where there is none."""
    for layer in layers(env):
        if offers(layer, HasSharedRun):
            return layer.shared_run
    raise ContractError(f"{env!r} is not an env of a simulator; make one with us.gym_env or us.vector_env")
