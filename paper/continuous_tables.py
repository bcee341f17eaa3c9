"""Tables of PPO in the continuous grid: by the paper's measures, and by ours."""

import warnings
from collections.abc import Mapping

import numpy as np

import understudy as us
from paper.continuous_runs import REAL, RETURN, VALUE, WITHIN, Settings
from paper.items import Columns, PaperValue
from paper.set_tables import after, by_set, common_horizon, fidelity_columns, lengths_columns
from understudy.errors import CensoringWarning
from understudy.evaluation.fidelity import Fidelity
from understudy.runs import Runs

MARGIN, LATE_MARGIN = 0.2, 0.1
"""Margins of a return, over all epochs and without the early ones: the cost of two steps, and of one. The paper calls
.203 close."""

PAPERS = {
    "PSRS-oracle": (17, 0.173),
    "PSRS-Homer": (16, 0.203),
    "obs-only": (50, 1.148),
    "act-only": (50, 1.221),
    "random": (50, 1.514),
}
"""The paper's table: efficiency in epochs, and fidelity. Its PSRS-encoder is our PSRS-Homer."""

PUBLISHED_EPOCHS = 16  # the published code takes the RMSE over these, in every row

# The paper's table.


def published(runs: Runs, real: Runs, settings: Settings) -> Fidelity:
    """Return the fidelity by the paper's rules: validation over the same epochs in every row, means over survivors."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CensoringWarning)  # that is the paper's rule
        return us.fidelity(runs, real, RETURN, horizon=PUBLISHED_EPOCHS * settings.epoch_steps)


def completed_epochs(runs: Runs, settings: Settings) -> float:
    """Return the efficiency by the paper's rules: the median number of completed epochs."""
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


def compared(found: Mapping[str, Fidelity], epochs: Mapping[str, float]) -> list[PaperValue]:
    """The rows of the paper's table."""
    rows = []
    for name, (efficiency, fidelity) in PAPERS.items():
        one = found[name]
        note = "floor: the spread of runs" + ("" if one.alive == 1 else f"; {1 - one.alive:.0%} of runs had stopped")
        rows += [
            PaperValue(f"{name}, efficiency (epochs)", efficiency, epochs[name]),
            PaperValue(f"{name}, fidelity over {PUBLISHED_EPOCHS} epochs", fidelity, one.rmse, one.floor, note=note),
        ]
    return rows


# Our measures.


def errors(judged: Mapping[str, Columns], settings: Settings) -> list[PaperValue]:
    """Our debiased errors; the paper gives none."""
    return [
        PaperValue(
            f"{name}, error over {line['horizon'] // settings.epoch_steps} epochs, a log for each run",
            None, line["debiased error"], interval=line["95%"], floor=line["floor of runs"], note=line["verdict"],
        )
        for name, line in by_set(judged["own-logs"]).items()
        if line["debiased error"] is not None
    ]  # fmt: skip


def headline_table(sets: Mapping[str, Runs], real: Runs, settings: Settings) -> Columns:
    """How long sets last on one log, and how close they are over the steps that all runs reached."""
    horizon = common_horizon(real, *sets.values())
    lengths, close = lengths_columns(sets), fidelity_columns(sets, real, VALUE, horizon=horizon)
    kept = ("set", "runs", "steps, median", "quartiles", "rows looked at per step", "what ran out, mostly")
    return {
        **{name: lengths[name] for name in kept},
        "horizon, epochs": [None if step is None else step // settings.epoch_steps for step in close["horizon"]],
        **{name: close[name] for name in ("RMSE", "floor of runs", "max error")},
    }


JUDGED = {
    "own-logs": f"{VALUE}, all epochs that all runs reached",
    "own-logs-late": f"{VALUE}, without the early epochs",
    "own-logs-training": f"{WITHIN}, without the early epochs",
}
"""The tables of verdicts on runs with a log each, and what they are about."""


def judgements(own: Mapping[str, Runs], real: Runs, settings: Settings) -> dict[str, Columns]:
    """How close sets are to real, over the same epochs: a table for each name of `JUDGED`.

    The early epochs are left out of two of them, since runs differ most there.
    """
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
