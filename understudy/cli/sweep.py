"""`understudy sweep`: combinations of learners, simulators, encoders and logs from a file, see `cli.sweep_file`."""

import argparse
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import understudy as us
from understudy.cli.choices import (
    encoder_for,
    is_encoder_file,
    learner_for,
    read_log,
    round_number,
    simulator_for,
    states_for,
)
from understudy.cli.contexts import with_contexts
from understudy.cli.defaults import for_linear_learners
from understudy.cli.deployment import deployed, goes_by_times
from understudy.cli.learners import own_class
from understudy.cli.sweep_file import SweepFile, vocabulary, write_sweep_file
from understudy.cli.unused import WITHOUT_STATES, refuse_unused_of_simulators
from understudy.cli.values import is_own_learner
from understudy.cli.words import print_table, say
from understudy.errors import SettingError
from understudy.runs.describing import describe, digest, plain
from understudy.sweeps.names import Combination
from understudy.sweeps.parts import SweepExperiment
from understudy.sweeps.sweeping import combinations_of, run_sweep

READINGS = 100
"""About how many readings of probes a run has, where `every` is not given."""


class FileParts:
    """The parts that a file of a sweep names, made as `understudy simulate` makes them; `tell` is told of doubts."""

    def __init__(self, file: SweepFile, tell: Callable[[str], None] = say) -> None:
        self.file, self.names, self._tell = file, file.names, tell
        self.warnings: list[str] = []  # of learners that do not look at the observations
        self._learners = {name: file.learner_options(learner=name) for name in self.names["learner"]}

    @property
    def fingerprints(self) -> dict[str, str]:
        return {}  # logs of a file are read where runs are missing

    def described(self, key: str, name: str) -> dict[str, Any]:
        options = vars(self._learners[name] if key == "learner" else self.file.options(**{key: name}))
        flags = vocabulary()[key]
        found = {one: options[action.dest] for one, action in flags.items() if options[action.dest] is not None}
        found.pop("learner_folder", None)  # a place, which is not the same from everywhere
        if key == "learner" and is_own_learner(options["learner"]):
            found["code"] = describe(own_class(options["learner"])).digest
        if key == "encoder" and is_encoder_file(options["encoder"]):
            found["encoder"] = f"a file whose digest is {digest(Path(options['encoder']).read_bytes())}"
        return plain(found | {"given": sorted(set(options["given"]) & set(flags))})

    def log(self, name: str) -> us.Log:
        options = self.file.options(log=name)
        # Of all learners on this log, which may say when outcomes were known.
        self._learners = {one: self.file.learner_options(learner=one, log=name) for one in self.names["learner"]}
        log = read_log(options)
        log.require_no_errors()
        options.json = True  # what is done for linear learners is not said
        return for_linear_learners(log, [one.learner for one in self._learners.values()], options)

    def encoder(self, name: str, log: us.Log) -> Any:
        encoder = encoder_for(log, self.file.options(encoder=name), None)
        kinds = {one["simulator"][0] for one in self.file.parts["simulator"].values()}
        if kinds - set(WITHOUT_STATES):
            states = states_for(log, encoder, None)
            if states.mostly_suspicious:
                self._tell(f"encoder {name}: {states.sentence}")
        return encoder

    def simulator(self, name: str, log: us.Log, encoder: Any) -> Any:
        options = self.file.options(simulator=name)
        (kind,) = options.simulator
        refuse_unused_of_simulators(options, [kind])
        if options.order is None and any(map(goes_by_times, self._learners.values())):
            options.order = "log"  # learners are told by the log's times, which run in its order
        return simulator_for(kind, log, encoder, options)

    def deployment(self, combination: Combination, log: us.Log, encoder: Any, simulator: Any) -> SweepExperiment:
        options = self._learners[combination.learner]
        if encoder is None:
            self._warn_of_blind(combination, log, options)
        make, probes = learner_for(log, encoder, options)
        steps = options.max_steps or len(log) / 2
        return SweepExperiment(
            *deployed(simulator, make, options), probes, options.every or round_number(steps / READINGS)
        )

    def _warn_of_blind(self, combination: Combination, log: us.Log, options: argparse.Namespace) -> None:
        """Tell, once for each learner and log, that the learner does not look at the observations."""
        for finding in with_contexts(us.Audit(()), log, [options], lambda text: None).findings:
            sentence = f"log {combination.log}, learner {combination.learner}: {finding.sentence}"
            if sentence not in self.warnings:
                self.warnings.append(sentence)
                self._tell(f"warning: {sentence}")


def run_sweep_command(options: argparse.Namespace) -> int:
    """Run `understudy sweep`, and return its exit code: 1 where runs failed."""
    file = SweepFile.read(options.file)
    shared = file.options()
    parts = FileParts(file, (lambda text: None) if options.json else say)
    out = options.out or shared.out
    if out is None:
        raise SettingError(f'{file.path} names no results folder; add out = "DIR" at its top, or give --out')
    combinations = combinations_of(parts, file.leave_out)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", us.FailedRunsWarning)
        found = run_sweep(
            parts, combinations, out, runs=options.runs or shared.runs, seed=shared.seed, max_steps=shared.max_steps,
            workers=options.workers or shared.workers, backend=options.backend or shared.backend,
            progress=False if options.json else None,
        )  # fmt: skip
    write_sweep_file(file, Path(out), options.runs)
    if options.json:
        lines = [one._asdict() | dict(count) for one, count in found.counts.items()]
        print(json.dumps({"sweep": str(found.path), "combinations": lines, "warnings": parts.warnings}, indent=1))
    else:
        print_table(found.table())
        for one in caught:
            say(one.message)
        say(f"\nThe tables are in {found.path}; understudy report {found.path} draws a page of them")
    return 1 if caught else 0
