"""What the runs of an experiment share, and how each of them is made."""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import Any

from understudy.contracts import HasSettings, Learner, LoopOwner, Simulator
from understudy.contracts.backing import Block
from understudy.contracts.kernels import kernels_to_send, receive_kernels
from understudy.contracts.offering import offers
from understudy.contracts.simulating import is_real, log_of, n_states_of, states_fingerprint, steps_back
from understudy.contracts.streams import spawn
from understudy.errors import ContractError, ResultsError, RunError, visible
from understudy.logs.propensities.advice import source_words
from understudy.runs.describing import describe
from understudy.runs.failures import FailedRun
from understudy.runs.folder import Folder
from understudy.runs.logged import logged_return, logged_reward, spread_of_returns
from understudy.runs.look_ahead import has_compiled_epochs
from understudy.runs.loop import can_compile, simulate
from understudy.runs.prerequisites import check_attributes, check_parts
from understudy.runs.probes import Probes, Readings
from understudy.runs.run import KINDS, Run
from understudy.runs.setup import Cancelled, RunSetup
from understudy.runs.shares import share_of_each, tell_share
from understudy.runs.stacked import blocks_of, can_stack, run_stacked, stack_keys
from understudy.runs.warming import learner_to_send, load_kernels


@dataclass(frozen=True)
class Parts:
    """The simulator and the learner of one run, and its seed."""

    seed: int
    simulator: Any
    learner: Any


@dataclass
class Plan:
    """What every run of an experiment needs. Called with the numbers of a block of runs, it makes and returns them.

    The parts of run 0 are made once: from them it is found what is run, whether runs can be stacked and which backend
    is the fastest; then they are run.
    """

    simulator: Any  # or a factory, seed -> simulator
    make: Callable[[int], Learner | LoopOwner]
    seed: int
    max_steps: int | None
    probes: Probes
    every: int
    compiled: bool | None
    keep_rows: bool = True
    keep_errors: bool = False
    folder: Folder | None = None
    listener: Callable[[Block, float], None] | None = None  # is told how far blocks are; not sent to other processes
    _trial_learner: bytes | None = None  # in other processes: a learner for `load_shared`

    @property
    def from_factory(self) -> bool:
        """True if each run has a simulator of its own."""
        return not offers(self.simulator, Simulator)

    @cached_property
    def first(self) -> Parts:
        """The parts of run 0. Its seed depends on whether the simulator is real, which only the simulator can say."""
        if not self.from_factory:
            seed = spawn(self.seed, 0, KINDS[is_real(self.simulator), False])
            return Parts(seed, self.simulator, self.make_learner(seed))
        seed = spawn(self.seed, 0, KINDS[False, True])
        simulator = self.make_simulator(seed)
        check_attributes("simulator", simulator)
        if is_real(simulator):
            seed = spawn(self.seed, 0, KINDS[True, True])
            simulator = self.make_simulator(seed)
        return Parts(seed, simulator, self.make_learner(seed))

    @cached_property
    def kind(self) -> int:
        """The kind of the runs, one of `KINDS`: a part of their seeds."""
        return KINDS[is_real(self.first.simulator), self.from_factory]

    def seed_of(self, number: int) -> int:
        """Return the seed of a run: `simulate(simulator, make(run.seed), run.seed)` is the run again."""
        return spawn(self.seed, number, self.kind)

    def parts(self, number: int) -> Parts:
        """Return the parts of a run. Those of run 0 that exist already are returned once: learners change."""
        seed = self.seed_of(number)
        first = vars(self).pop("first", None) if number == 0 else None
        if first is not None:
            return first
        simulator = self.make_simulator(seed) if self.from_factory else self.simulator
        return Parts(seed, simulator, self.make_learner(seed))

    def make_simulator(self, seed: int) -> Any:
        """Return what the factory makes of a seed."""
        with checking_call(self.simulator, 1, "the factory of simulators is called with a seed: lambda seed: ..."):
            return self.simulator(seed)

    def make_learner(self, seed: int) -> Any:
        """Return what `make` makes of a seed."""
        with checking_call(self.make, 1, "make is called with a seed: lambda seed: ..."):
            return self.make(seed)

    def __getstate__(self) -> dict[str, Any]:
        """Return what is sent to other processes: with the kind, and without the parts of run 0."""
        first = vars(self).get("first")
        return {name: value for name, value in vars(self).items() if name not in ("first", "listener")} | {
            "kind": self.kind,
            "_kernels": kernels_to_send(),
            "_trial_learner": learner_to_send(first and first.learner),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Arrive in another process, and register the kernels that came along."""
        receive_kernels(state.pop("_kernels"))
        vars(self).update(state)

    def __call__(self, numbers: Sequence[int], keep_going: Callable[[], bool] | None = None) -> list[Run | FailedRun]:
        if not callable(keep_going):
            raise ContractError(
                f"run_block was called with {keep_going!r} as its second argument; give it a function that returns "
                "False when the runs are cancelled: run_block(block, lambda: True)"
            )
        if len(numbers) == 1:
            return [self.run_alone(numbers[0], keep_going)]
        runs: dict[int, Run | FailedRun] = {}
        each = dict(zip(numbers, share_of_each(keep_going, len(numbers)), strict=True))
        try:
            self.run_together(each, runs)
        except (Cancelled, ResultsError):
            raise
        except Exception as error:
            if not self.keep_errors:
                if not is_noted(error):  # raised while learners computed together: no one run's
                    self.save_failures([FailedRun.of(number, self.seed_of(number), error)
                                        for number in numbers if number not in runs])  # fmt: skip
                raise
            # Runs that are missing are made alone, which tells whose error it is.
        return [runs[number] if number in runs else self.run_alone(number, each[number]) for number in numbers]

    def run_together(self, each: Mapping[int, Callable[[], bool]], runs: dict[int, Run | FailedRun]) -> None:
        """Add the runs of a block to `runs` as they finish. Runs that are not stacked are left to be made alone.

        `each` has the `keep_going` of each run, by its number.
        """
        numbers, parts = list(each), list[Parts]()
        for number in numbers:
            try:
                parts.append(self.parts(number))
                check_parts(parts[-1].simulator, parts[-1].learner, self.max_steps, self.every)
            except Exception as error:
                self.fail(number, error)
                return  # the others of the block are made alone
        if len(stack_keys([part.learner for part in parts])) > 1:  # a factory may make learners of several kinds
            runs |= {
                number: self.run_alone(number, each[number], part) for number, part in zip(numbers, parts, strict=True)
            }
            return
        max_steps = None if self.max_steps is None else int(self.max_steps)
        setups = [
            RunSetup(
                part.simulator, part.learner, part.seed, max_steps,
                Readings(self.probes, int(self.every), part.seed, self.keep_rows), each[number],
            )
            for number, part in zip(numbers, parts, strict=True)
        ]  # fmt: skip
        for position, run in run_stacked(setups):
            number = numbers[position]
            if isinstance(run, Exception):
                runs[number] = self.fail(number, run)
            else:
                runs[number] = self.finish(number, parts[position].simulator, run)
            tell_share(each[number], 1.0)

    def run_alone(self, number: int, keep_going: Callable[[], bool], parts: Parts | None = None) -> Run | FailedRun:
        """Return one run, made by itself."""
        try:
            parts = parts or self.parts(number)
            run = simulate(
                parts.simulator, parts.learner, parts.seed, self.max_steps, probes=self.probes, every=self.every,
                compiled=self.compiled, keep_rows=self.keep_rows, keep_going=keep_going,
            )  # fmt: skip
        except Exception as error:
            return self.fail(number, error)
        with noting_run(number, self.seed_of(number)):
            run = self.finish(number, parts.simulator, run)
        tell_share(keep_going, 1.0)
        return run

    def fail(self, number: int, error: Exception) -> FailedRun:
        """Return a run that raised, noted in the folder. Unless errors are kept, raise its error."""
        error.add_note(f"in run {number} (seed {self.seed_of(number)})")
        if isinstance(error, Cancelled):
            raise error
        failed = FailedRun.of(number, self.seed_of(number), error)
        self.save_failures([failed])
        if not self.keep_errors:
            raise error
        return failed

    def give_up(self, block: Sequence[int], reason: str) -> list[FailedRun]:
        """Return the runs of a block as failed, for a reason that the backend knows. Raise `RunError` unless kept."""
        named = f"run {block[0]}" if len(block) == 1 else f"runs {block[0]} to {block[-1]}"
        failed = [FailedRun(number, self.seed_of(number), visible(reason)) for number in block]
        self.save_failures(failed)
        if not self.keep_errors:
            raise RunError(f"{named} (seed {failed[0].seed}{', ...' * (len(block) > 1)}) could not be made: {reason}")
        return failed

    def save_failures(self, failed: Sequence[FailedRun]) -> None:
        """Note in the folder which runs raised: they come last when the experiment goes on."""
        for one in failed if self.folder is not None else ():
            with suppress(ResultsError):  # the run's own error matters more
                self.folder.save_failure(one)  # type: ignore[union-attr]

    def finish(self, number: int, simulator: Any, run: Run) -> Run:
        """Return a run with its log's name, saved at once: by the worker that made it, which no interrupt reaches."""
        if self.from_factory and (log := log_of(simulator)) is not None:
            run = replace(run, log=log.fingerprint)
        if self.folder is not None:
            self.folder.save(number, run)
        return run

    def blocks(self, numbers: Sequence[int], workers: int = 1) -> list[Block]:
        """Return the blocks of runs that are made together, such that all workers have some where runs allow it."""
        simulator, learner = self.first.simulator, self.first.learner
        if self.compiled is not None or steps_back(simulator) or not can_stack(learner):
            return [(number,) for number in numbers]
        return blocks_of(numbers, learner, workers)

    def hear_share(self, block: Block, share: float) -> None:
        """Tell `listener`, if there is one, how far a block is."""
        if self.listener is not None:
            self.listener(tuple(block), share)

    def load_shared(self) -> None:
        """Load the compiled code that runs need, in a process from which workers are forked."""
        if not self.from_factory:
            load_kernels(self.simulator, self._trial_learner, self.compiled)

    def fastest_backend(self, workers: int, blocks: int) -> str:
        """Return the name of the fastest backend: threads for compiled loops, processes for loops in Python."""
        if workers == 1 or blocks == 1:
            return "serial"
        simulator, learner = self.first.simulator, self.first.learner
        compiled = can_compile(simulator, learner) or has_compiled_epochs(simulator, learner)
        return "threads" if compiled and self.compiled is not False else "processes"

    def about(self) -> tuple[dict[str, Any], dict[str, str]]:
        """Return what is run, the fields of `About`, and the parts of it that could not be described.

        Where each run has a log of its own, it is that of run 0.
        """
        simulator, learner = self.first.simulator, self.first.learner
        check_parts(simulator, learner, self.max_steps, self.every)
        Readings(self.probes, int(self.every), self.first.seed)  # raises now, not in a run, where a probe is not one
        log = log_of(simulator)
        settings = simulator.settings if offers(simulator, HasSettings) else None
        limit = settings.get("max_episode_steps") if isinstance(settings, Mapping) else None
        earned = logged_return(log, limit) if log is not None else None
        factory = self.simulator if self.from_factory else None
        described = describe(
            {"simulator": simulator, "learner": learner, "probes": self.probes, "make": self.make, "factory": factory}
        )
        plain = with_class(described.plain["simulator"], simulator)
        plain = {"simulator": plain.pop("class")} | plain
        code = plain.get("code")
        return {
            "simulator": {name: item for name, item in plain.items() if name not in ("log", "states", "code")}
            | {"simulator": str(plain["simulator"])},
            "simulator_code": None if code is None else str(code),
            "kind": "real" if is_real(simulator) else "simulated",
            "from_factory": self.from_factory,
            "log": log.fingerprint if log is not None else None,
            "log_content": log.content if log is not None else None,
            "log_rows": len(log) if log is not None else None,
            "log_episodes": log.n_episodes if log is not None else None,
            "log_terminated": int(log.terminated.sum()) if log is not None else None,
            "log_return": earned.mean if earned is not None else None,
            "log_returns": spread_of_returns(log, limit, earned) if log is not None and earned is not None else None,
            "log_return_of": earned.n_episodes if earned is not None else None,
            "log_cut_off": earned.n_cut_off if earned is not None else None,
            "log_reward": logged_reward(log) if log is not None else None,
            "log_reward_column": log.spec.reward_column if log is not None else None,
            "log_propensities": source_words(log) if log is not None else None,
            "states": states_fingerprint(simulator),
            "n_states": count_of(n_states_of(simulator)),
            "learner": with_class(described.plain["learner"], learner),
            "seed": self.seed,
            "max_steps": None if self.max_steps is None else int(self.max_steps),
            "probes": described.plain["probes"],
            "every": int(self.every),
            "make": described.parts["make"],
            "factory": None if factory is None else described.parts["factory"],
            "digest": described.digest,
        }, described.unknown


@contextmanager
def checking_call(function: Callable, n_arguments: int, rule: str) -> Iterator[None]:
    """Context manager: where a call within fails since the function does not take n arguments, raise `ContractError`.

    Its own `TypeError`s are left as they are.
    """
    try:
        yield
    except TypeError as error:
        try:
            inspect.signature(function, follow_wrapped=False).bind(*range(n_arguments))
        except TypeError as mismatch:
            raise ContractError(f"{rule}; the one given does not take that ({mismatch})") from error
        except ValueError:  # a function of C, whose arguments are not known
            pass
        raise


@contextmanager
def noting_run(number: int, seed: int) -> Iterator[None]:
    """Context manager: errors raised within have a note that says which run they come from."""
    try:
        yield
    except Exception as error:
        error.add_note(f"in run {number} (seed {seed})")
        raise


def is_noted(error: Exception) -> bool:
    """True if an error has a note that says which run it comes from."""
    return any(note.startswith("in run ") for note in vars(error).get("__notes__", ()))


def with_class(plain: Any, part: Any) -> dict[str, Any]:
    """Return the plain form of an object as a table with its class; a plain form that is one text is its digest."""
    if not isinstance(plain, dict):
        return {"class": type(part).__name__, "digest": str(plain)}
    return plain if isinstance(plain.get("class"), str) else plain | {"class": type(part).__name__}


def count_of(number: Any) -> int | None:
    """Return a whole number that files can hold, or None for anything else."""
    found = int(number) if isinstance(number, Integral) and not isinstance(number, bool) else -1
    return found if 0 <= found < 2**63 else None
