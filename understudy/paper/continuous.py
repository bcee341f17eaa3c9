"""Figures 4, 5 and 10 to 12: PPO, which learns from points, under true states, learned ones and three baselines."""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

import understudy as us
from understudy.contracts.progress import progress_bar
from understudy.errors import CensoringWarning
from understudy.evaluation.fidelity import Fidelity
from understudy.paper import grids, points
from understudy.paper.aspects import aspects_picture
from understudy.paper.drawing import paired_looks, with_zoom
from understudy.paper.items import Columns, Comparison, Finding, Item, Picture, Table
from understudy.paper.measuring import (
    after,
    all_equivalent,
    all_longer,
    by_set,
    common_horizon,
    curve_columns,
    error_of,
    fidelity_columns,
    lengths_columns,
    listed,
    ratio_of_medians,
    run_columns,
)
from understudy.paper.stage import Stage
from understudy.reporting.figures import curves_of_runs
from understudy.runs import Runs
from understudy.runs.backends import in_processes, in_turn, n_cores

TITLE = "PPO on continuous observations (Figures 4, 5 and 10 to 12)"


@dataclass(frozen=True)
class Settings:
    """Sizes of the item."""

    runs: int = 10
    epochs: int = 50
    many_epochs: int = 20  # of real runs and baselines beyond the first ten; the others run out by themselves
    epoch_steps: int = 5000
    own_runs: int = 40  # with a log each, of the simulators that should be exact
    other_runs: int = 20  # and of the others
    own_epochs: int = 16  # as far as baselines go there
    real_runs: int = 80  # that those are compared with
    early: int = 5  # epochs of which runs differ so much that they would hide all later ones
    ppo: Mapping[str, Any] = field(default_factory=dict)


FULL = Settings()
QUICK = Settings(
    runs=3, epochs=4, many_epochs=4, epoch_steps=800, own_runs=3, other_runs=3, own_epochs=2, real_runs=3, early=1,
    ppo={"policy_rate": 2e-3, "value_rate": 5e-3, "policy_iterations": 20, "value_iterations": 20},
)  # fmt: skip

FIRST = 10
"""Real runs and baselines that go on to the last epoch, however many there are."""

MARGIN, LATE_MARGIN = 0.2, 0.1
"""Of a return, over all epochs and without the early ones: the cost of two steps, and of one. The paper calls .203
close."""

REAL = "Real"
PAPERS = {
    "PSRS-oracle": (17, 0.173),
    "PSRS-Homer": (16, 0.203),
    "obs-only": (50, 1.148),
    "act-only": (50, 1.221),
    "random": (50, 1.514),
}
"""The paper's table: efficiency in epochs, and fidelity. Its PSRS-encoder is our PSRS-Homer."""

PUBLISHED_EPOCHS = 16  # over which the published code takes the RMSE, in every row
BASELINES = ("obs-only", "act-only", "random")
REPLAYED = ("PSRS-oracle", "PSRS-Homer", "PSRS-Forward")
EXACT = ("PSRS-oracle", "PSRS-Forward")
DRAWN = (*REPLAYED, *BASELINES)
QUEUES = ("QBE-oracle", "QBE-Homer", "QBE-Forward")
SETS = (*DRAWN, *QUEUES)
POINTS = "PSRS-observations"
LOOKS = paired_looks((REAL, *SETS), REAL)
RETURN, LENGTH, WITHIN = "validation return", "validation length", "return within the epoch"
VALUE = points.POLICY_VALUE

LONG, MANY, OWN, TRAINED = "long", "many", "own logs", "trained"

PRACTICAL = 1000
"""Steps: what lasts shorter is not practical."""


@dataclass(frozen=True)
class Work:
    """The sets of runs of this item, and encoders, each made by its kind and name, in whatever process."""

    stage: Stage
    settings: Settings

    def __call__(self, what: tuple[str, str], wanted: Callable[[], bool] = lambda: True) -> Any:
        kind, name = what
        return {LONG: self.long, MANY: self.many, OWN: self.own, TRAINED: self.trained}[kind](name)

    @cached_property
    def ready(self) -> points.Prepared:
        """The log, and encoders, which are read from the results folder where they have been trained."""
        return points.prepare(self.stage)

    def trained(self, name: str) -> None:
        """Train an encoder, for whoever asks for it later."""
        _ = self.ready.encoders[name]

    def __getstate__(self) -> dict[str, Any]:
        return {"stage": self.stage, "settings": self.settings}  # the rest is made again where it is needed

    def long(self, name: str) -> Runs:
        """Runs to the last epoch: all where they run out before, else the first."""
        endless = name in (REAL, *BASELINES)
        return self.runs(name, name, min(FIRST, self.settings.runs) if endless else self.settings.runs)

    def many(self, name: str) -> Runs:
        """As many as were asked for, for fewer epochs; real ones as many as others are compared with."""
        runs = max(self.settings.runs, self.settings.real_runs) if name == REAL else self.settings.runs
        return self.runs(f"{name}, many", name, runs, self.settings.many_epochs)

    def own(self, name: str) -> Runs:
        """Runs with a log of their own each: then they are independent, as real ones are."""
        env, rows, cap, make = self.ready.env, len(self.ready.log), self.cap, self.simulator(name)
        runs = self.settings.own_runs if name in REPLAYED else self.settings.other_runs
        epochs = self.settings.own_epochs if name in BASELINES else None
        factory = lambda seed: make(points.record(env, rows, seed, cap))  # noqa: E731
        return self.runs(f"{name}, own logs", name, runs, epochs, factory)

    def runs(self, title: str, name: str, runs: int, epochs: int | None = None, factory: Any = None) -> Runs:
        """Runs of PPO under one of the simulators."""
        env, log, steps = self.ready.env, self.ready.log, self.settings.epoch_steps
        options = {"epoch_steps": steps, "abandons": self.stage.authors, **self.settings.ppo}
        simulator = factory or (points.real(env, self.cap) if name == REAL else self.simulator(name)(log))
        return self.stage.experiment(
            title, simulator, lambda seed: us.learners.PPO(log.spec, seed=seed, **options),
            runs=runs, max_steps=(epochs or self.settings.epochs) * steps, every=steps, workers=1, progress=False,
            probes=us.probes.validation(env, gamma=points.GAMMA, max_episode_steps=points.CAP)
            | {VALUE: points.policy_value(env), WITHIN: us.probes.episode_returns},
        )  # fmt: skip

    @property
    def cap(self) -> int | None:
        return points.CAP if self.stage.authors else None

    def simulator(self, name: str) -> Callable[[us.Log], Any]:
        """What makes a simulator of a log."""
        order: dict[str, Any] = {"order": grids.conventions(self.stage).order}
        encoders = self.ready.encoders
        if name == "act-only":
            return us.actions_only
        if name == "random":
            return us.any_row
        if name == "obs-only":  # by the states of the paper's encoder
            return lambda log: us.states_only(log, encoders[points.HOMER], **order)
        if name == POINTS:
            return lambda log: us.psrs(log, **order)
        kind, encoder = name.split("-")
        make = {"PSRS": us.psrs, "QBE": us.qbe}[kind]
        return lambda log: make(log, encoders[encoder], **order)


def run(stage: Stage) -> Item:
    """PPO in the true grid and under each simulator; on one log as in the paper, and with a log for each run."""
    settings = stage.settings(FULL, QUICK)
    work = Work(stage, settings)
    longer = settings.runs > FIRST
    wanted = [(MANY, REAL), (LONG, REAL), (LONG, POINTS)] + [(LONG, name) for name in SETS]
    wanted += [(OWN, name) for name in SETS] + [(MANY, name) for name in BASELINES if longer]
    early, late = in_two(sorted(wanted, key=lambda what: what[1] not in (REAL, *BASELINES)))  # the longest first
    made = performed(work, [(TRAINED, points.HOMER), *early, (TRAINED, points.FORWARD)])
    made |= performed(work, late)
    first = {name: made[LONG, name][:FIRST] for name in (REAL, *SETS)}
    sets = {name: made[MANY if longer and name in BASELINES else LONG, name] for name in SETS}
    own = {name: made[OWN, name] for name in SETS}
    real = made[MANY, REAL]

    found = {name: published(sets[name], real, settings) for name in SETS}
    epochs = {name: completed_epochs(made[LONG, name], settings) for name in SETS}
    judged, rows = judgements(own, real, settings), len(work.ready.log)
    mean_curves = {name: first[name] for name in (*DRAWN, REAL)}
    queues = {name: first[name] for name in (*REPLAYED, *QUEUES, REAL)}
    return Item(
        about=(
            f"A log of {rows:,} rows of the uniform policy, PPO with epochs of {settings.epoch_steps:,} "
            f"steps, {settings.runs} runs of each set on that log"
            + (f"; of baselines the first {FIRST} go to {settings.epochs} epochs and the others to "
               f"{settings.many_epochs}" if longer else f", up to {settings.epochs} epochs")
            + f"; {len(real)} real runs to compare with. Validation is 10 episodes of the stochastic policy in the "
            f"true grid, discounted by {points.GAMMA}; the value of the policy is what infinitely many would earn, "
            "found by linear equations. Homer is the paper's encoder, Forward ours; obs-only is keyed by Homer's "
            "states. Encoders were trained on the log they are used on, except in the runs with logs of their own. "
            + (
                "An epoch's end abandons the episode, and the log is read in row order, as in the published code."
                if stage.authors
                else "Episodes go on over an epoch's end."
            )
        ),
        findings=[
            *faithful(judged),
            right_states(judged),
            far(judged),
            close_to_oracle(judged),
            impractical(made[LONG, POINTS]),
            inverse(first[REAL]),
            more_efficient(own, settings),
        ],
        comparisons=[*compared(found, epochs), *errors(judged, settings)],
        pictures=[
            picture("training", "Figure 5, left: the mean return of episodes within each epoch.", mean_curves, WITHIN),
            picture("validation", "Figures 5, right, and 12, left: validation after each epoch.", mean_curves, RETURN),
            picture("lengths", "Figure 12, right: the length of validation episodes.", mean_curves, LENGTH),
            picture("value", "The value of the policy after each epoch, exact.", mean_curves, VALUE),
            picture("queues", "What the paper leaves out: QBE (long dashes), its value of the policy.", queues, VALUE),
            aspects_picture("Figure 4, right, over the epochs that all reached", own, judged["own-logs"], LOOKS),
            one_by_one("training-runs", "The mean return of episodes within each epoch, run by run.", first, WITHIN),
            one_by_one("validation-runs", "Figure 10: validation, run by run.", first, RETURN),
            one_by_one("lengths-runs", "Figure 11: lengths of validation episodes, run by run.", first, LENGTH),
        ],
        tables=[
            Table(
                "published",
                "The paper's table (Figure 4, right) by its own measures, on our runs: completed epochs, and the RMSE "
                f"of validation over {PUBLISHED_EPOCHS} epochs, means over surviving runs.",
                published_table(found, epochs),
            ),
            Table(
                "headline",
                "Ours: how long on one log, and how far from real, in the value of the policy, over the epochs that "
                "all runs of all sets reached.",
                headline_table(sets, real, settings),
            ),
            *(
                Table(name, f"Ours, a log of {rows:,} rows for each run, noise taken off: {caption}.", table)
                for (name, caption), table in zip(JUDGED.items(), judged.values(), strict=True)
            ),
        ],
    )  # fmt: skip


JUDGED = {
    "own-logs": f"{VALUE}, all epochs that all runs reached",
    "own-logs-late": f"{VALUE}, without the early epochs",
    "own-logs-training": f"{WITHIN}, without the early epochs",
}
"""What is judged with a log for each run, by the names of its tables."""


def judgements(own: Mapping[str, Runs], real: Runs, settings: Settings) -> dict[str, Columns]:
    """How close sets are to real, over the same epochs; where epochs are left out, runs differ most in those."""
    horizon = common_horizon(real, *own.values()) // settings.epoch_steps * settings.epoch_steps
    early = settings.early * settings.epoch_steps
    late, late_real = {name: after(runs, early) for name, runs in own.items()}, after(real, early)
    if horizon <= early:  # too little to leave anything out
        late, late_real = dict(own), real
    return {
        "own-logs": fidelity_columns(own, real, VALUE, horizon, MARGIN),
        "own-logs-late": fidelity_columns(late, late_real, VALUE, horizon, LATE_MARGIN),
        "own-logs-training": fidelity_columns(late, late_real, WITHIN, horizon, LATE_MARGIN),
    }


def in_two(wanted: list[tuple[str, str]]) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Sets that need no trained encoder, so that they can be made while those are trained, and the others."""
    others = [what for what in wanted if what[1] == "obs-only" or what[1].endswith((points.HOMER, points.FORWARD))]
    return [what for what in wanted if what not in others], others


def performed(work: Work, wanted: list[tuple[str, str]]) -> dict[tuple[str, str], Runs]:
    """Sets, several at a time: the ten runs of a set are one batch, which one worker trains."""
    workers = 1 if work.stage.quick else min(work.stage.workers or n_cores(), len(wanted))
    backend = in_turn if workers == 1 else in_processes
    made: dict[tuple[str, str], Runs] = {}
    with progress_bar("sets of runs", len(wanted), None) as report:
        for what, runs in backend(work, wanted, workers):
            made[what] = runs
            report(len(made))
    return made


# The paper's table.


def published(runs: Runs, real: Runs, settings: Settings) -> Fidelity:
    """Fidelity by the paper's rules: validation over the same epochs in every row, means over survivors."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CensoringWarning)  # that is the rule
        return us.fidelity(runs, real, RETURN, horizon=PUBLISHED_EPOCHS * settings.epoch_steps)


def completed_epochs(runs: Runs, settings: Settings) -> float:
    """Efficiency by the paper's rules: the median number of completed epochs."""
    return float(np.median(runs.lengths // settings.epoch_steps))


def published_table(found: Mapping[str, Fidelity], epochs: Mapping[str, float]) -> Columns:
    """The paper's table with its numbers beside ours."""
    none = (None, None)
    return {
        "simulation": [REAL, *found],
        "efficiency, the paper": ["∞", *(_text(PAPERS.get(name, none)[0]) for name in found)],
        "efficiency, ours": ["∞", *(f"{epochs[name]:g}" for name in found)],
        "fidelity, the paper": [0.0, *(PAPERS.get(name, none)[1] for name in found)],
        "fidelity, ours": [0.0, *(one.rmse for one in found.values())],
        "floor of runs": [None, *(one.floor for one in found.values())],
        f"runs alive at epoch {PUBLISHED_EPOCHS}, %": [None, *(100 * one.alive for one in found.values())],
    }


def _text(number: float | None) -> str | None:
    return None if number is None else f"{number:g}"


def compared(found: Mapping[str, Fidelity], epochs: Mapping[str, float]) -> list[Comparison]:
    """The rows of the paper's table."""
    rows = []
    for name, (efficiency, fidelity) in PAPERS.items():
        one = found[name]
        note = "floor: the spread of runs" + ("" if one.alive == 1 else f"; {1 - one.alive:.0%} of runs had stopped")
        rows += [
            Comparison(f"{name}, efficiency (epochs)", efficiency, epochs[name]),
            Comparison(f"{name}, fidelity over {PUBLISHED_EPOCHS} epochs", fidelity, one.rmse, one.floor, note=note),
        ]
    return rows


# Ours.


def errors(judged: Mapping[str, Columns], settings: Settings) -> list[Comparison]:
    """The debiased errors, which the paper has none of."""
    return [
        Comparison(
            f"{name}, error over {line['horizon'] // settings.epoch_steps} epochs, a log for each run",
            None, line["debiased error"], interval=line["95 %"], floor=line["floor of runs"], note=line["verdict"],
        )
        for name, line in by_set(judged["own-logs"]).items()
        if line["debiased error"] is not None
    ]  # fmt: skip


def headline_table(sets: Mapping[str, Runs], real: Runs, settings: Settings) -> Columns:
    """How long, and how close over the steps that all runs reached."""
    horizon = common_horizon(real, *sets.values())
    lengths, close = lengths_columns(sets), fidelity_columns(sets, real, VALUE, horizon=horizon)
    kept = ("set", "runs", "steps, median", "quartiles", "rows looked at per step", "what ran out, mostly")
    return {
        **{name: lengths[name] for name in kept},
        "horizon, epochs": [None if step is None else step // settings.epoch_steps for step in close["horizon"]],
        **{name: close[name] for name in ("RMSE", "floor of runs", "max error")},
    }


def faithful(judged: Mapping[str, Columns]) -> list[Finding]:
    """Whether the paper's encoder is enough, by both of its curves."""
    claim = "OLS using “PSRS-encoder faithfully reconstructs learning curves of the real, online PPO agent”"
    value, late, training = (by_set(table)["PSRS-Homer"] for table in judged.values())
    return [
        Finding(
            f"{claim}: validation (Figure 5, right).",
            all_equivalent([value, late]),
            f"With a log for each run, noise taken off, 95 %: {error_of(value, 3)} at a margin of {MARGIN} over all "
            f"epochs; without the early epochs {error_of(late, 3)} at {LATE_MARGIN}, the cost of a step.",
        ),
        Finding(
            f"{claim}: training (Figure 5, left).",
            all_equivalent([training]),
            f"The return within epochs, without the early ones: {error_of(training, 3)} at a margin of {LATE_MARGIN}.",
        ),
    ]


def right_states(judged: Mapping[str, Columns]) -> Finding:
    """Whether replay by true states, and by Forward's, is equivalent to real, by a test that rejects a baseline."""
    tables = [by_set(table) for table in judged.values()]
    holds = all_equivalent(table[name] for table in tables for name in EXACT)
    rejected = all(table["obs-only"]["verdict"] == "different" for table in tables)
    told = [
        f"{caption}: {'; '.join(error_of(table[name], 3) for name in (*EXACT, 'obs-only'))}"
        for table, caption in zip(tables, JUDGED.values(), strict=True)
    ]
    return Finding(
        "Where states are right (the true cells, or Forward's), PSRS is equivalent to real, by a test that rejects "
        "obs-only.",
        holds if rejected or holds is False else None,
        f"{'. '.join(word[0].upper() + word[1:] for word in told)}.",
        ours=True,
    )


def far(judged: Mapping[str, Columns]) -> Finding:
    """Whether the baselines are far from real."""
    lines = by_set(judged["own-logs"])
    verdicts = [lines[name]["verdict"] for name in BASELINES]
    return Finding(
        "“All other baselines, despite being efficient, are far from accurate simulations and have non-negligible "
        "error.”",
        True if set(verdicts) == {"different"} else False if "equivalent" in verdicts else None,
        f"The value of the policy, as above: {'; '.join(error_of(lines[name], 3) for name in BASELINES)}.",
    )


def close_to_oracle(judged: Mapping[str, Columns]) -> Finding:
    """Whether the paper's encoder does as well as the true cells."""
    lines = by_set(judged["own-logs"])
    both = [lines[name] for name in ("PSRS-Homer", "PSRS-oracle")]
    return Finding(
        "“Despite the errors in the latent states from the learned encoder, it performs close to the oracle encoder, "
        "and both are close to the online PPO in the real environment.”",
        all_equivalent(both),
        f"The value of the policy, as above: {'; '.join(error_of(line, 3) for line in both)}.",
    )


def impractical(runs: Runs) -> Finding:
    """How long PSRS lasts on the points themselves."""
    return Finding(
        "“PSRS on the observation space is no longer practical”, no two observations being the same.",
        bool(np.median(runs.lengths) < PRACTICAL),
        f"{len(runs)} runs lasted {int(runs.lengths.min()):,} to {int(runs.lengths.max()):,} steps.",
    )


def inverse(real: Runs) -> Finding:
    """How lengths of episodes go with their returns."""
    lengths, returns = (real.curve(probe)[1].ravel() for probe in (LENGTH, RETURN))
    correlation = float(np.corrcoef(lengths, returns)[0, 1])
    return Finding(
        "Lengths of validation episodes are “inversely correlated with episode returns” (appendix B.3).",
        correlation < 0,
        f"Over all epochs of {len(real)} real runs the correlation is {correlation:.3f}.",
    )


def more_efficient(own: Mapping[str, Runs], settings: Settings) -> Finding:
    """PSRS against QBE, which the paper left out here."""
    pairs = {
        encoder: [own[f"{kind}-{encoder}"][: settings.other_runs] for kind in ("PSRS", "QBE")]
        for encoder in (points.ORACLE, points.HOMER, points.FORWARD)
    }
    ratios = {encoder: ratio_of_medians(*pair) for encoder, pair in pairs.items()}
    told = [
        f"{ratio:.2f} with {name}'s states ({low:.2f} to {high:.2f})" for name, (ratio, (low, high)) in ratios.items()
    ]
    return Finding(
        "PSRS “was shown to be more efficient than QBE” (section 3, of Mandel et al.'s work); not shown for PPO.",
        all_longer(interval for _, interval in ratios.values()),
        f"Median lengths with a log for each run, PSRS / QBE: {listed(told)}.",
    )


def picture(name: str, caption: str, sets: Mapping[str, Runs], probe: str) -> Picture:
    """Mean curves."""
    n = len(sets[REAL])
    caption = f"{caption} Means of {n} runs on one log with 1.96 standard errors; dashed where some had stopped."
    close = [key for key in sets if key not in BASELINES]
    figure = with_zoom(sets, probe, REAL, close=close, looks=LOOKS, log_scale=probe == LENGTH)
    return Picture(name, caption, figure, curve_columns(sets, probe))


def one_by_one(name: str, caption: str, sets: Mapping[str, Runs], probe: str) -> Picture:
    """Single runs."""
    ordered = {key: sets[key] for key in (REAL, *SETS)}
    caption = f"{caption} The thick line is the mean of a set, the black one that of the real runs."
    epoch = int(sets[REAL][0].steps[0])
    figure = curves_of_runs(ordered, probe, REAL, looks=LOOKS, epoch=epoch, log_scale=probe == LENGTH)
    return Picture(name, caption, figure, run_columns(ordered, probe))
