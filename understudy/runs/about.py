"""What was run in an experiment: simulator, log, learner, probes and seed."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from understudy.deprecation import warn_of_old_name


@dataclass(frozen=True)
class About:
    """What was run in an experiment. Fields are None where there is no log, or where nothing is known.

    The same record gives the same runs: a results folder holds it, and refuses runs with another one.
    """

    simulator: Mapping[str, Any] = field(default_factory=dict)  # its name, under "simulator", and its settings
    simulator_code: str | None = None  # a digest of its code, where it is not ours
    kind: str = "simulated"  # or "real": a true environment
    from_factory: bool = False  # True if each run had a simulator of its own
    log: str | None = None  # the log's fingerprint; with a log for each run, that of the first
    log_content: str | None = None  # a hash of its rows that does not depend on how observations are coded
    log_rows: int | None = None
    log_episodes: int | None = None
    log_terminated: int | None = None  # episodes that ended by themselves
    log_return: float | None = None  # the mean return of the log's episodes
    log_returns: Mapping[str, Any] | None = None  # how these returns vary, as `runs.logged.spread_of_returns` tells it
    log_return_of: int | None = None  # of so many, the first ones, where later ones were not finished
    log_cut_off: int | None = None  # episodes that the end of the recording cut off
    log_reward: float | None = None  # the mean reward of the log's rows
    log_reward_column: str | None = None  # the name of its column; of costs, whose sign was changed, "-name"
    log_propensities: str | None = None  # where the log's propensities came from, or "none", in words
    states: str | None = None  # a fingerprint of the state of each row
    n_states: int | None = None
    learner: Mapping[str, Any] = field(default_factory=dict)  # its class, under "class", and its settings
    seed: int | None = None  # of the experiment
    max_steps: int | None = None
    probes: Mapping[str, Any] = field(default_factory=dict)  # what each probe is, by its name
    every: int | None = None  # steps between two readings of the probes
    make: str | None = None  # a digest of the function that makes learners
    factory: str | None = None  # a digest of the function that makes simulators
    digest: str | None = None  # of simulator, learner, probes and functions, with the parts that are not shown here
    own_logs: bool = False  # True if no two runs share a log

    @classmethod
    def from_json(cls, content: Mapping[str, Any], own_logs: bool = False) -> "About":
        """Return the record that a results folder holds. `own_logs` is not in its files: it follows from the runs."""
        known = {one.name for one in fields(cls)} - {"own_logs"}
        return cls(**{name: value for name, value in content.items() if name in known}, own_logs=own_logs)

    def to_json(self) -> dict[str, Any]:
        """Return the fields as a dict of plain values."""
        return dict(vars(self))

    @property
    def log_complete(self) -> int | None:
        """The number of first episodes that the log's mean return is of, where it is not of all."""
        return None if self.log_return_of in (None, self.log_episodes) else self.log_return_of

    @property
    def is_real(self) -> bool:
        """True if the runs were made in a true environment."""
        return self.kind == "real"

    @property
    def independent(self) -> bool:
        """True if runs are independent: each had a log of its own, or they were made in a true environment."""
        return self.own_logs or self.is_real

    @property
    def rows_of_log(self) -> str | None:
        """What sets of runs on the same rows have in common, however observations are coded; None without a log."""
        return self.log_content or self.log

    @property
    def simulator_name(self) -> str | None:
        """The simulator's name, such as "psrs"."""
        return self.simulator.get("simulator")

    @property
    def learner_name(self) -> str | None:
        """The name of the learner's class; that of the policy that one evaluates, or whose outcomes arrive late."""
        name, inner = self.learner.get("class"), self.learner.get("learner")
        if name == "MonteCarlo":
            return self.learner.get("behavior", name)
        return f"delayed {inner['class']}" if name == "Delayed" and isinstance(inner, Mapping) else name

    def __getitem__(self, name: str) -> Any:
        """Return a field by its name, with a DeprecationWarning: `about` was a dict before."""
        if name not in vars(self):
            raise KeyError(name)
        warn_of_old_name(f"runs.about[{name!r}]", f"runs.about.{name}")
        return getattr(self, name)

    def __contains__(self, name: object) -> bool:
        """True if there is a field of this name, with a DeprecationWarning."""
        warn_of_old_name(f"{name!r} in runs.about", f"{name!r} in runs.about.to_json()")
        return name in vars(self)

    def get(self, name: str, default: Any = None) -> Any:
        """Return a field by its name, or `default` where there is no such field, with a DeprecationWarning."""
        warn_of_old_name(f"runs.about.get({name!r})", f"runs.about.{name}")
        return vars(self).get(name, default)

    __iter__ = None  # without it, Python would iterate by calling __getitem__ with 0, 1, ...
