"""Simulators that offer whole episodes of a log, each accepted or passed over as one: `replay` and `pers`."""

from copy import copy
from typing import Any

import numpy as np

from understudy.contracts import Exhausted, Log, LogUse, Step, Stop
from understudy.contracts.compiling import compiled_for
from understudy.contracts.streams import streams_of
from understudy.errors import LogError, SettingError
from understudy.logs.episodes import longest_episode
from understudy.logs.policies import as_vector
from understudy.mapped import advise_random, blocks, new_array, reserved
from understudy.simulators.bounds import Bound, bound_for, ceilings, inverse_of_chosen
from understudy.simulators.coding import LOG_POSITIONS, CodedArrays, largest_observation, opening_positions
from understudy.simulators.index_arrays import vectors_in_files
from understudy.simulators.kernels import layout
from understudy.simulators.kernels.layout import PASSED_OVER
from understudy.simulators.kernels.whole_episodes import (
    EPISODE,
    LOST,
    N_WEIGHTS,
    NEXT_BOUND,
    NOT_OVER,
    ROW,
    TERMINATED,
    TRUNCATED,
    EpisodeTape,
)
from understudy.simulators.options import option_code, require_log
from understudy.simulators.read_only import read_only
from understudy.simulators.rehearsal import STOPPED, begin_episode, refused_step, serve_step
from understudy.stored_arrays import made_beside

ORDERS = {"episodes": layout.BY_EPISODES, "log": layout.IN_LOG_ORDER}


class WholeEpisodes:
    """A log offered episode by episode. Made by `replay` and `pers`."""

    kind = "simulated"
    exhaustible = serves_rows = True
    serves_emissions = foreseeable = False
    n_states = None  # the learner sees the row's own observation, and no row stands in for another

    def __init__(self, name: str, log: Log, bound: Bound, order: str, never: np.ndarray) -> None:
        """`never` has the actions that no row of the whole log took."""
        self.log, self.bound, self.n_actions = log, bound, log.spec.n_actions
        self.settings: dict[str, Any] = {"simulator": name, "order": order}
        self.settings |= {"bound": "running" if bound.is_running else bound.value, "bound_from": bound.source}
        longest = longest_episode(log.starts)
        self.steps_back = bool(log.starts[longest + 1] - log.starts[longest] > 1)
        self.compilable = not self.steps_back

        all_known = log.propensity is not None and log.propensity.ndim == 2
        with made_beside(log.action, *log.columns.values()):
            self._inverse = inverse_of_chosen(log)
            self._ceiling, self._whole = ceilings(self._inverse, log.starts)
            self._vector, inverse = vectors_in_files(log if all_known else None, self.n_actions)
        self._never = never
        if not all_known and len(never):
            inverse[:, never] = np.inf
        self._inverse_propensity = read_only(inverse)
        rules = {
            layout.READ_ORDER: option_code("order", order, ORDERS),
            layout.RUNNING_BOUND: bound.is_running,
            layout.LACKS_SUPPORT: any(np.isinf(inverse[rows]).any() for rows in blocks(len(inverse))),
        }
        self._rules = read_only(np.array([int(rules.get(position, 0)) for position in range(layout.N_RULES)]))
        self._copies = 1
        self._arrays = self._coded_arrays()

    def start(self, seed: int, codes: Any = None) -> "EpisodeRehearsal":
        """Return a new rehearsal; `codes` are those of a learner with a table of its own."""
        rows, episodes = self._arrays(codes)
        weights, cursor = np.zeros(N_WEIGHTS), np.zeros(layout.N_CURSOR, np.int64)
        weights[NEXT_BOUND], cursor[layout.EPISODE_OVER], cursor[layout.STATE] = self.bound.value, 1, layout.EMPTY
        advise_random(rows, episodes)
        order = reserved(len(episodes), np.int32)
        source = EpisodeTape(
            rows, episodes, self._inverse_propensity, self._rules, order, streams_of(seed), weights, cursor
        )
        return EpisodeRehearsal(source, self.log)

    def select(self, episodes: np.ndarray) -> "WholeEpisodes":
        """Return the same simulator on the log of these episodes, with the bound of the whole log."""
        settings = self.settings
        return WholeEpisodes(
            settings["simulator"], self.log.select(episodes), self.bound, settings["order"], self._never
        )

    def repeated(self, copies: int) -> "WholeEpisodes":
        """Return the same simulator over so many copies of its log, one after another, each in an order of its own."""
        if len(self.log) * copies >= 2**31:
            raise SettingError(f"{copies:,} copies of {len(self.log):,} rows are more than can be counted; use fewer")
        repeated = copy(self)
        repeated.settings = self.settings | {"copies": copies}
        repeated.exhaustible = False
        repeated._copies = copies
        repeated._arrays = repeated._coded_arrays()
        return repeated

    @property
    def acceptance(self) -> str:
        """How many episodes are accepted, and how the bound is known, as a sentence."""
        noun = "episode" if self.steps_back else "row"
        if self.bound.is_running:
            return f"{noun}s are accepted by a running bound, the largest that the {noun}s before them asked for"
        return f"one {noun} in {self.bound.value:,.4g} is accepted: the bound by {self.bound.source}"

    def _coded_arrays(self) -> CodedArrays:
        return CodedArrays(self._coded, largest_observation(self.log.observation, self.log.next_observation))

    def _coded(self, codes: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return rows and episodes with a learner's codes of observations; None: integers are their own codes.

        Those of a log on disk are in files that are gone with them.
        """
        log, n_episodes = self.log, self.log.n_episodes
        with made_beside(log.action, *log.columns.values()):
            rows, episodes = new_array(len(log), ROW), new_array(self._copies * n_episodes, EPISODE)
            for part in blocks(len(log)):
                some, terminated = rows[part], log.terminated[part]
                some["reward"], some["action"] = log.reward[part], log.action[part]
                some["vector"] = 0 if self._vector is None else self._vector[part]
                some["inverse"], some["ceiling"] = self._inverse[part], self._ceiling[part]
                some["end"] = np.where(terminated, TERMINATED, np.where(log.truncated[part], TRUNCATED, NOT_OVER))
                some["next_code"] = self._next_codes(codes, part)
            # As in `Replay`: an episode that the end of a recording cut off keeps its position.
            unfinished = np.append(np.flatnonzero(log.unfinished), n_episodes)
            for part in blocks(n_episodes):
                first = log.starts[part]
                block_end = unfinished[np.searchsorted(unfinished, np.arange(part.start, part.stop))]
                opening = self._opening_codes(codes, part)
                for before in range(0, len(episodes), n_episodes):  # one copy of the log after another
                    some = episodes[before + part.start : before + part.stop]
                    some["first"], some["end"] = first, log.starts[part.start + 1 : part.stop + 1]
                    some["ceiling"], some["code"], some["block_end"] = self._whole[part], opening, before + block_end
        return rows, episodes

    def _next_codes(self, codes: Any, rows: slice) -> np.ndarray | int:
        log = self.log
        if codes is not None and codes.encoder is LOG_POSITIONS:
            return np.arange(rows.start, rows.stop)
        if codes is not None:
            return codes.batch(log.next_observation[rows], ~log.terminated[rows])
        return 0 if log.spec.n_observations is None else log.next_observation[rows]

    def _opening_codes(self, codes: Any, episodes: slice) -> np.ndarray | int:
        log = self.log
        if codes is not None and codes.encoder is LOG_POSITIONS:
            return opening_positions(len(log), range(episodes.start, episodes.stop))
        first = log.observation[log.starts[episodes]]
        if codes is not None:
            return codes.batch(first)
        return 0 if log.spec.n_observations is None else first

    def __repr__(self) -> str:
        settings, value = self.settings, "running" if self.bound.is_running else f"{self.bound.value:.6g}"
        return (
            f"{settings['simulator']}({len(self.log):,} rows, {self.log.n_episodes:,} episodes, "
            f"order={settings['order']!r}, bound={value}: {self.bound.source})"
        )


class EpisodeRehearsal:
    """Offers whole episodes: `step` returns None where the one under way is passed over, and `begin` comes next.

    `source` holds the arrays that kernels work on; the compiled loop uses it directly.
    """

    state = layout.EMPTY

    def __init__(self, source: EpisodeTape, log: Log) -> None:
        self.source, self._log = source, log
        self._observation: Any = None  # of the log itself: an array is copied before it is returned
        self._serve: Any = None

    def begin(self) -> Any:
        """Offer the next episode, and return its first observation. Raise `Exhausted` when there is none."""
        row = begin_episode(self.source)
        if self.source.cursor[layout.CAUSE]:
            raise Exhausted(self.stop())
        self.opening = int(row)
        self._observation = self._log.observation[row]
        return _copied(self._observation)

    def step(self, policy: np.ndarray) -> Step | None:
        """Let this policy act at the current observation; return the step, or None where the episode is passed over."""
        n_actions = self._log.spec.n_actions
        policy = as_vector(policy, n_actions, self._observation)
        if self._serve is None:
            self._serve = compiled_for(serve_step, self.source, policy)
        status, row, _, action, reward, terminated, truncated = self._serve(self.source, policy)
        if status == STOPPED:
            raise Exhausted(self.stop())
        if status:
            raise refused_step(status, policy, n_actions, self._observation)
        if row == PASSED_OVER:
            return None
        before, self._observation = self._observation, self._log.next_observation[row]
        return Step(_copied(before), action, reward, _copied(self._observation), terminated, truncated, row)

    def stop(self) -> Stop:
        """Return why the rehearsal cannot go on; cause "max steps" where it can."""
        cursor, lost = self.source.cursor, float(self.source.weights[LOST])
        n_accepted = int(cursor[layout.EPISODES_ACCEPTED])
        counts = {
            "steps": int(cursor[layout.STEPS_SERVED]),
            "openings": n_accepted,
            "episodes offered": int(cursor[layout.TAPE_READ]),
            "rows taken": int(cursor[layout.ROWS_TAKEN]),
            "bounds exceeded": int(cursor[layout.BOUNDS_EXCEEDED]),
            "rows not supported": int(cursor[layout.ROWS_PASSED_OVER]),
        }
        cause = layout.CAUSES[cursor[layout.CAUSE]] if cursor[layout.CAUSE] else "max steps"
        return Stop(cause, counts=counts, bias=min(1.0, lost / max(1, n_accepted)) if lost > 0.0 else None)

    def use(self) -> LogUse:
        """Return how much of its log the rehearsal has used."""
        offered = int(self.source.cursor[layout.TAPE_READ])
        return LogUse(offered, Stop("used up"), offered, len(self.source.order))


def _copied(observation: Any) -> Any:
    return observation.copy() if isinstance(observation, np.ndarray) else observation


def replay(
    log: Log, *, bound: float | str | None = None, quantile: float | None = None, order: str = "episodes"
) -> WholeEpisodes:
    """Replay one-step decisions, such as a bandit's: each row is offered once, and the learner sees its observation.

    A row is accepted with probability policy / (bound * propensity) of the logged action. Where it is not, it is passed
    over: nothing is learned, and the next row comes. Since every row is accepted with the same probability, whatever
    its observation and the policy, accepted rows are what the learner would have met in the real world. Needs the
    propensity of the logged action only, and no states.

    `bound` is the largest ratio policy / propensity, one for all rows. None finds it: of a uniform logger, the number
    of actions; else one over the smallest propensity in the log. A number is taken as given. "running" is the largest
    1 / propensity of the rows offered before, and "quantile" the `quantile` of it (by default .99) over all rows: runs
    are longer then, ratios above the bound are counted, and `Run.stopped.bias` says by how much the law of a step may
    be off. `order` is "episodes", rows at random, or "log", for loggers that learned while they logged. For these give
    `bound=1 / floor`, with `floor` the smallest probability that the logger gave to any action: what such a logger did
    depends on what it earned, so that a bound that is found in its log can leak outcomes.

    >>> import numpy as np
    >>> log = Log.from_columns(observation=np.random.default_rng(0).normal(size=(100, 2)), action=[0, 1] * 50,
    ...     reward=[0, 1] * 50, propensity=np.full(100, 0.5), ends="every-row")
    >>> replay(log)
    replay(100 rows, 100 episodes, order='episodes', bound=2: uniform propensities)
    """
    require_log(log)
    episode = longest_episode(log.starts)
    first, end = log.starts[episode], log.starts[episode + 1]
    if end - first > 1:
        raise LogError(
            f"replay is for decisions of one row each, and the episode that begins in row {first:,} has "
            f"{end - first:,} rows; use psrs, which goes from state to state, or pers, which accepts whole "
            'episodes, or say ends="every-row" if each row is a decision by itself'
        )
    return _whole_episodes("replay", log, bound, quantile, order)


def pers(
    log: Log, *, bound: float | str | None = None, quantile: float | None = None, order: str = "episodes"
) -> WholeEpisodes:
    """Per-episode rejection sampling: whole episodes as they were logged, accepted as often as the learner acts so.

    An episode is accepted with probability w / bound, where w is the product of policy / propensity over its rows. The
    learner acts and learns from row to row; where the episode is passed over, it is put back to what it was when the
    episode began, its random numbers included, and the record forgets the episode. Needs no states and no Markov
    observations, and accepts few episodes: one in n_actions ** steps of a uniform log. For one-step decisions it is
    `replay`, whose options it has; the bound is that of a whole episode, the same for short and for long ones.
    """
    require_log(log)
    return _whole_episodes("pers", log, bound, quantile, order)


def _whole_episodes(
    name: str, log: Log, bound: float | str | None, quantile: float | None, order: str
) -> WholeEpisodes:
    """Return the simulator. Raise `LogError` where the log lacks what it needs."""
    if log.propensity is None:
        raise LogError(
            f"{name} compares the learner's policy with the logged one, and this log has no propensities; name the "
            "column of the probability of each row's action with propensity= (where all actions were equally likely, "
            "one over their number), estimate it with us.estimate_propensities(log), or use qbe, which needs none"
        )
    log.require_no_errors()
    if log.unfinished.all():
        raise LogError(
            f"{name} offers whole episodes, and no episode of this log is known to have ended; say how they ended with "
            'terminated= or truncated=, or ends="every-row" if each row is a decision by itself'
        )
    option_code("order", order, ORDERS)
    n_actions = log.spec.n_actions
    taken = sum(np.bincount(log.action[rows], minlength=n_actions) for rows in blocks(len(log)))
    never = np.flatnonzero(taken == 0)
    with made_beside(log.action, *log.columns.values()):
        found = bound_for(log, bound, quantile)
    return WholeEpisodes(name, log, found, order, never)
