"""Sweeps: all combinations of learners, simulators, encoders and logs, into one results folder."""

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

from understudy.contracts.backing import Backend
from understudy.errors import FailedRunsWarning, ResultsError, RunError, SettingError
from understudy.logs import Log
from understudy.progress import progress_bar
from understudy.runs.backends import backend_of, workers_of
from understudy.runs.describing import differences
from understudy.runs.experiment import ERRORS, MOST_RUNS, check_written, refuse_unknown
from understudy.runs.folder import about_differences
from understudy.runs.plan import Plan
from understudy.runs.probes import reward_so_far
from understudy.settings import seed_of, steps_of, whole
from understudy.sweeps.folder import SweepFolder
from understudy.sweeps.keeping import Keeper, failures_in_words
from understudy.sweeps.loaded import Sweep, load_sweep
from understudy.sweeps.making import Stack, made_groups
from understudy.sweeps.names import KEYS, Combination, check_rules, is_left_out
from understudy.sweeps.parts import GivenParts, SweepExperiment, SweepParts
from understudy.sweeps.run_tables import REWARD

ADVICE = "give the new one another name, which keeps both, or another folder"
"""What to do where a part has changed under its name."""


def sweep(
    learners: Any,
    simulators: Any,
    logs: Any,
    encoders: Any = None,
    *,
    out: Any,
    runs: int = 100,
    seed: int = 0,
    max_steps: int | None = None,
    probes: Mapping[str, Any] | None = None,
    every: int = 1000,
    leave_out: Iterable[Mapping[str, Any]] | Callable[..., bool] = (),
    workers: int | None = None,
    backend: str | Backend | None = None,
    errors: Literal["raise", "keep"] = "keep",
    progress: bool | None = None,
) -> Sweep:
    """Run every combination of learners, simulators, encoders and logs, and return their results, see `Sweep`.

    Each of the four is a mapping of names, which appear in the results, or a list or a single part that has a name:

    - learners: functions seed -> learner, or log, encoder, seed -> learner where they depend on these;
    - simulators: functions of a log and an encoder, or of a log, such as `us.psrs`, or their names, "psrs";
    - encoders: None (every observation is a state), encoders, fitted on each log, or functions log -> encoder;
    - logs: logs, or paths, which are read one at a time.

    Run i has the same seed in all combinations, so that learners are compared on the same random numbers. Combinations
    are left out by `leave_out`: a list of tables of names, such as [{"learner": "a", "log": ["x", "y"]}], or a function
    of learner, simulator, encoder and log that returns True. Beside `probes`, the reward so far is read in all runs,
    every so many steps.

    Runs are kept in the folder `out` every few seconds. Called again, the sweep goes on where it stopped, and with more
    `runs` or further parts makes what is missing. A part that has changed under its name is refused. A run that raises
    is kept as failed, with its reason and traceback, and made again by the next call; with `errors="raise"` it ends the
    sweep. `workers` and `backend` are as in `us.experiment`; the folder's tables are described in docs/sweeps.md.
    """
    parts = GivenParts(learners, simulators, encoders, logs, probes, whole("every", every))
    return run_sweep(
        parts, combinations_of(parts, leave_out), out, runs=runs, seed=seed, max_steps=max_steps, workers=workers,
        backend=backend, errors=errors, progress=progress,
    )  # fmt: skip


def combinations_of(parts: SweepParts, leave_out: Any = ()) -> list[Combination]:
    """Return the combinations of all parts, those of one log together, without those that are left out."""
    logs, encoders, simulators, learners = (parts.names[key] for key in reversed(KEYS))
    combinations = [Combination(*names[::-1]) for names in product(logs, encoders, simulators, learners)]
    if callable(leave_out):
        found = [one for one in combinations if not leave_out(**one._asdict())]
    else:
        rules = check_rules(leave_out, parts.names)
        found = [one for one in combinations if not is_left_out(one, rules)]
    if not found:
        raise SettingError("leave_out leaves no combination of the sweep to be run; leave out fewer")
    return found


def run_sweep(
    parts: SweepParts,
    combinations: Sequence[Combination],
    out: Any,
    *,
    runs: int,
    seed: int = 0,
    max_steps: int | None = None,
    workers: int | None = None,
    backend: str | Backend | None = None,
    errors: str = "keep",
    progress: bool | None = None,
) -> Sweep:
    """Run these combinations, as `sweep` does, with parts from anywhere."""
    runs, seed, max_steps = whole("runs", runs, most=MOST_RUNS), seed_of(seed), steps_of("max_steps", max_steps)
    work = None if backend is None else backend_of(backend)
    workers = workers_of(work, None if workers is None else whole("workers", workers))
    if errors not in ERRORS:
        raise SettingError(f"errors={errors!r} is not one of {', '.join(map(repr, ERRORS))}")
    folder = SweepFolder(out)
    with folder.held({"seed": seed, "max_steps": max_steps}):
        known = folder.experiments()
        described = {(key, name): parts.described(key, name) for key in KEYS[:3] for name in parts.names[key]}
        described |= {("log", name): {"fingerprint": found} for name, found in parts.fingerprints.items()}
        refuse_changed(folder, known, described)
        missing = {one: missing_runs(folder, one, runs) for one in combinations}
        described |= {("log", name): {"fingerprint": one.fingerprint} for name, one in unread(parts, missing)}
        refuse_changed(folder, known, described)
        n_missing, n_all = sum(map(len, missing.values())), runs * len(missing)
        with progress_bar("sweep", n_all, progress, n_all - n_missing) as report:
            keeper = Keeper(folder, report, n_all - n_missing, errors == "raise")
            for group, log, encoder, simulator in sharing_simulators(parts, missing):
                if isinstance(simulator, Broken):
                    keeper.fail({one: missing[one] for one in group}, simulator.error, seed)
                    continue
                described["log", group[0].log] = {"fingerprint": log.fingerprint}
                refuse_changed(folder, known, described)
                plans = {}
                for one in group:
                    try:
                        plan = plan_of(parts.deployment(one, log, encoder, simulator), seed, max_steps)
                        about = about_of(plan)
                    except ResultsError:
                        raise
                    except Exception as error:  # a learner that cannot be made: the others go on
                        keeper.fail({one: missing[one]}, error, seed)
                        continue
                    plans[one] = plan
                    if one in known:
                        refuse_other(folder, one, known[one]["about"], about)
                    else:
                        its_parts = {key: described[key, name] for key, name in one._asdict().items()}
                        folder.write_experiment(one, {"about": about, "parts": its_parts})
                make_runs(plans, missing, keeper, work, workers)
    if keeper.failed:
        told = failures_in_words(keeper.failed, n_missing)
        if not keeper.n_finished:
            raise RunError(f"{told}; mend what they have in common, and call it again")
        warnings.warn(f"{told}; the same call makes them again", FailedRunsWarning, stacklevel=3)
    return load_sweep(out)


def unread(parts: SweepParts, missing: Mapping[Combination, Sequence[int]]) -> Iterator[tuple[str, Log]]:
    """Yield the logs, by name, that no missing run needs, and whose fingerprints are known only when they are read.

    A file may have changed though all of its runs are there. One that cannot be read any more is left out.
    """
    needed = {one.log for one, numbers in missing.items() if numbers}
    for name in dict.fromkeys(one.log for one in missing if one.log not in needed):
        if name not in parts.fingerprints and isinstance(log := attempted(parts.log, name), Log):
            yield name, log


def missing_runs(folder: SweepFolder, combination: Combination, runs: int) -> list[int]:
    """Return the numbers of the runs that the folder does not have; what a process that died left is removed."""
    folder.clean(combination)
    finished = folder.finished(combination)
    return [number for number in range(runs) if number not in finished]


def sharing_simulators(
    parts: SweepParts, missing: Mapping[Combination, Sequence[int]]
) -> Iterator[tuple[list[Combination], Any, Any, Any]]:
    """Yield the combinations with missing runs that share a simulator, with their log, encoder and simulator.

    A log is read, an encoder fitted and a simulator made once, when it is needed, and not held any longer. Where that
    raises, the simulator is `Broken`.
    """
    left = [one for one, numbers in missing.items() if numbers]
    for log_name, of_log in grouped(left, "log"):
        log = attempted(parts.log, log_name)
        for encoder_name, of_encoder in grouped(of_log, "encoder"):
            encoder = attempted(parts.encoder, encoder_name, log)
            for simulator_name, group in grouped(of_encoder, "simulator"):
                yield group, log, encoder, attempted(parts.simulator, simulator_name, log, encoder)


@dataclass(frozen=True)
class Broken:
    """A part of a sweep that could not be made, and why."""

    error: Exception


def attempted(make: Callable[..., Any], *arguments: Any) -> Any:
    """Return a part, or `Broken` where it cannot be made, or needs a part that could not."""
    for one in arguments:
        if isinstance(one, Broken):
            return one
    try:
        return make(*arguments)
    except Exception as error:
        return Broken(error)


def grouped(combinations: Iterable[Combination], key: str) -> list[tuple[str, list[Combination]]]:
    """Return combinations by one of their names, in the order in which the names come first."""
    found: dict[str, list[Combination]] = {}
    for one in combinations:
        found.setdefault(one._asdict()[key], []).append(one)
    return list(found.items())


def plan_of(deployment: SweepExperiment, seed: int, max_steps: int | None) -> Plan:
    """Return how the runs of a combination are made."""
    probes = {REWARD: reward_so_far} | deployment.probes
    return Plan(
        deployment.simulator, deployment.make, seed, max_steps, probes, deployment.every, compiled=None,
        keep_rows=False, keep_errors=True,
    )  # fmt: skip


def about_of(plan: Plan) -> dict[str, Any]:
    """Return what a plan runs. Raise `ResultsError` where it cannot be described, or not be read back."""
    about, unknown = plan.about()
    refuse_unknown(unknown)
    check_written(about)
    return about


def make_runs(
    plans: Mapping[Combination, Plan],
    missing: Mapping[Combination, Sequence[int]],
    keeper: "Keeper",
    backend: Backend | None,
    workers: int,
) -> None:
    """Make the missing runs of combinations that share a simulator, and keep them; plans of one backend together."""
    combinations = list(plans)
    chosen: dict[Any, dict[int, list[Stack]]] = {}
    alone: set[tuple[int, Stack]] = set()
    for place, one in enumerate(combinations):
        stacks = plans[one].blocks(missing[one], workers)
        chosen.setdefault(backend or plans[one].fastest_backend(workers, len(stacks)), {})[place] = stacks
        failed = keeper.failed_before(one)
        alone.update((place, stack) for stack in stacks if not failed.isdisjoint(stack))
    with closing(keeper):
        for how, stacks_of in chosen.items():
            its_plans = {place: plans[combinations[place]] for place in stacks_of}
            with closing(made_groups(its_plans, stacks_of, how, workers, alone)) as groups:
                for group in groups:
                    keeper.add(combinations[group.place], group)


def refuse_changed(
    folder: SweepFolder,
    known: Mapping[Combination, Mapping[str, Any]],
    described: Mapping[tuple[str, str], Mapping[str, Any]],
) -> None:
    """Raise `ResultsError` where a part is not what it was in runs that the folder holds under its name."""
    for one, content in known.items():
        for key, name in one._asdict().items():
            here, there = described.get((key, name)), content["parts"].get(key, {})
            if here is not None and here != there and (found := differences(there, here)):
                raise ResultsError(f"{key} {name!r} is not what it was in {folder.path}: {'; '.join(found)}; {ADVICE}")


def refuse_other(
    folder: SweepFolder, combination: Combination, there: Mapping[str, Any], here: Mapping[str, Any]
) -> None:
    """Raise `ResultsError` where the folder holds runs of another experiment under these names."""
    if found := about_differences(there, here):
        raise ResultsError(
            f"{folder.path} holds runs of another experiment for {combination}: {'; '.join(found)}; {ADVICE}"
        )
