"""Rules about episodes: whether their rows are together and in order, and how they end."""

from collections import Counter
from collections.abc import Iterator
from math import exp, lgamma
from math import log as logarithm
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from understudy.logs.blocks import FoundRows, found_rows, one_later, slices
from understudy.logs.ends import RECORDING_ENDED
from understudy.logs.episodes import goes_on, later_pieces
from understudy.logs.findings import RATES, Finding, finding_in_rows

if TYPE_CHECKING:
    from understudy.logs.log import Log

RARE = RATES["each test"]
"""Below this chance, what was found is not taken for chance."""

MANY_AFTER_GAPS = 0.01
"""With this share of rows that follow missing ones, next observations that were taken from them are not believed."""

FEW_EPISODES = 20  # with so many, an end of true probability .2 is served in .19 of steps or more (exactness.md)


def episode_contiguity(log: "Log") -> Iterator[Finding]:
    """Find episodes whose rows are not together."""
    rows = log.starts[later_pieces(log.episode, log.starts)]
    if len(rows):
        yield finding_in_rows(
            log,
            "error",
            "episode-contiguity",
            rows,
            "an episode goes on after another began, in row {first} and so {where} in all; sort the rows by episode, "
            "or read the file with order_by=",
        )


def step_order(log: "Log") -> Iterator[Finding]:
    """Find steps that do not rise by one.

    Steps that were derived always do, unless episodes are in pieces, which another rule finds.
    """
    if "step" in log.derived:
        return

    def rise(rows: slice) -> np.ndarray:
        """Return how much steps rise to the next row, 1 where another episode begins."""
        risen = log.step[one_later(rows)] - log.step[rows]
        risen[~goes_on(log.episode, rows)] = 1
        return risen

    if found_rows(lambda rows: rise(rows) != 1, len(log) - 1).count:
        back = _one_row_later(found_rows(lambda rows: rise(rows) < 1, len(log) - 1))
        if back.count:
            yield finding_in_rows(
                log,
                "error",
                "step-order",
                back,
                "step does not rise within its episode {where}; sort the rows by episode and step, or leave step out",
            )
        gaps = _one_row_later(found_rows(lambda rows: rise(rows) > 1, len(log) - 1))
        if gaps.count:
            derived = "next_observation" in log.derived
            yield finding_in_rows(
                log,
                "doubt" if derived and gaps.count >= MANY_AFTER_GAPS * len(log) else "warning",
                "step-order",
                gaps,
                "step jumps {where}: rows before them are missing"
                + derived
                * ", so the rows before these lead to an observation that did not follow; log next_observation",
            )
    usual = _usual_first_step(log)
    late = found_rows(lambda episodes: log.step[log.starts[episodes]] > usual, log.n_episodes)
    if late.count:
        yield finding_in_rows(
            log,
            "warning",
            "step-order",
            _first_rows(log, late),
            f"an episode starts after step {usual}, the usual first one, {{where}}: "
            "it counts as an opening all the same; drop such episodes if they did not begin there",
        )


def _one_row_later(rows: FoundRows) -> FoundRows:
    return FoundRows(tuple(row + 1 for row in rows.first), rows.count)


def _first_rows(log: "Log", episodes: FoundRows) -> FoundRows:
    """Return the first rows of episodes."""
    return FoundRows(tuple(log.starts[list(episodes.first)].tolist()), episodes.count)


def _usual_first_step(log: "Log") -> int:
    """Return the number that the first step of an episode has most often; of several, the smallest."""
    counts: Counter[int] = Counter()
    for episodes in slices(log.n_episodes):
        values, times = np.unique(log.step[log.starts[episodes]], return_counts=True)
        counts.update(dict(zip(values.tolist(), times.tolist(), strict=True)))
    return min(counts, key=lambda step: (-counts[step], step))


def end_inside(log: "Log") -> Iterator[Finding]:
    """Find episodes that go on after their end."""
    rows = found_rows(
        lambda part: (log.terminated[part] | log.truncated[part]) & goes_on(log.episode, part), len(log) - 1
    )
    if rows.count:
        yield finding_in_rows(
            log,
            "error",
            "end-inside",
            rows,
            "terminated or truncated is set {where}, but the episode goes on; fix the flags, or leave episode out",
        )


def both_ends(log: "Log") -> Iterator[Finding]:
    """Find rows that are both terminated and truncated."""
    rows = found_rows(lambda part: log.terminated[part] & log.truncated[part], len(log))
    if rows.count:
        yield finding_in_rows(
            log,
            "warning",
            "both-ends",
            rows,
            "terminated and truncated are both set {where}; they are read as terminated",
        )


def unfinished(log: "Log") -> Iterator[Finding]:
    """Find episodes that end neither terminated nor truncated."""
    episodes = found_rows(lambda part: log.unfinished[part], log.n_episodes)
    # The end of a piece is not the end of an episode.
    if episodes.count and not len(later_pieces(log.episode, log.starts)):
        lengths = _lengths_of(log)
        some_ended = log.terminated.any() or log.truncated.any()
        last = tuple(int(log.starts[episode + 1]) - 1 for episode in episodes.first)
        said = any(note.startswith(f"{RECORDING_ENDED}:") for note in log.notes)
        ends = "{after}" if "next_observation" in log.derived else "{where}"  # a last row was dropped, or it was not
        if some_ended and not said and lengths.chance_of_limit < RARE:
            most = 2 * lengths.n_cut_longest >= lengths.n_cut
            advice = (
                'say ends="truncated" if so, or ends="unfinished" if only the recording stopped'
                if most
                else "set truncated= for these; the others ended in another way, so see that terminated= tells of "
                "every way to end"
            )
            yield finding_in_rows(
                log,
                "doubt",
                "unmarked-limit",
                FoundRows(last, episodes.count),
                f"an episode ends neither terminated nor truncated {ends}: {lengths.n_cut_longest:,} of these have "
                f"{lengths.longest:,} steps, and no episode has more, so a time limit seems to have ended them; "
                f"without it, simulated episodes go on and earn what they could not: {advice}",
            )
            return
        advice = "; set truncated= where a time limit ended them" if some_ended else ""
        if not said and episodes.count > 1 and lengths.n_cut_longest == lengths.n_cut:
            advice = (
                f". All of these have {lengths.longest:,} steps, and no episode has more: a time limit of that length "
                f"seems to have ended them{', so set truncated= there' if some_ended else ''}"
            )
        yield finding_in_rows(
            log,
            "note",
            "unfinished",
            FoundRows(last, episodes.count),
            f"an episode ends neither terminated nor truncated {ends}: the recording is taken to have been cut off "
            f"there, so such episodes keep their places, and none is moved past them{advice}",
        )


class _Lengths(NamedTuple):
    """How long episodes are; a row that was dropped from one that was cut off counts."""

    longest: int
    n_cut: int  # those that end neither terminated nor truncated
    n_cut_longest: int  # of these, as long as the longest of all
    n_ended: int
    n_ended_longest: int  # of those that ended, as long as the longest of all

    @property
    def chance_of_limit(self) -> float:
        """How likely so many of those that were cut off are as long as the longest, if they end where others do.

        It is a bound: the number of ways to choose these, times the chance that all of them are so long.
        """
        k, n = self.n_cut_longest, self.n_cut
        if k < 2:
            return 1.0
        ways = lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)
        return min(1.0, exp(min(0.0, ways + k * logarithm((self.n_ended_longest + 1) / (self.n_ended + 1)))))


def _lengths_of(log: "Log") -> _Lengths:
    longest = max(int(lengths.max()) for lengths, _ in _in_blocks(log))
    n_cut, cut_longest, ended_longest = 0, 0, 0
    for lengths, cut in _in_blocks(log):
        n_cut += int(cut.sum())
        cut_longest += int((lengths[cut] == longest).sum())
        ended_longest += int((lengths[~cut] == longest).sum())
    return _Lengths(longest, n_cut, cut_longest, log.n_episodes - n_cut, ended_longest)


def _in_blocks(log: "Log") -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the lengths of episodes, and which of them were cut off, block by block."""
    for episodes in slices(log.n_episodes):
        cut = log.unfinished[episodes]
        yield log.starts[one_later(episodes)] - log.starts[episodes] + (cut & ("next_observation" in log.derived)), cut


def equal_lengths(log: "Log") -> Iterator[Finding]:
    """Find that all episodes have one length and are said to have ended by themselves, as where a clock ended them."""
    if not FEW_EPISODES <= log.n_episodes < len(log):  # of single decisions, each ends
        return
    length = int(log.starts[1])
    for episodes in slices(log.n_episodes):
        starts, ends = log.starts[episodes], log.starts[one_later(episodes)]
        if (ends - starts != length).any() or not log.terminated[ends - 1].all():
            return
    yield Finding(
        "warning",
        "equal-lengths",
        (),
        log.n_episodes,
        f"all {log.n_episodes:,} episodes have {length:,} rows and are said to have terminated, as if nothing "
        "followed; where a clock or a limit ended them, they were cut off, and what follows counts for a learner: say "
        "truncated, not terminated; where nothing follows, all is well",
    )


def one_episode(log: "Log") -> Iterator[Finding]:
    """Find that the log is one episode, so that its order cannot vary."""
    if log.n_episodes == 1:
        yield Finding(
            "note", "one-episode", (), 1, "the log is one episode: its order is the same in every run of a simulation"
        )


def few_episodes(log: "Log") -> Iterator[Finding]:
    """Find that there are so few episodes that ends are served too rarely.

    A row exists only where no row before it ended its episode, so the rows of a short log are mostly those after which
    the episode went on. Logs in which no episode ends are not affected.
    """
    if log.n_episodes < FEW_EPISODES and log.terminated.any():
        yield Finding(
            "warning",
            "few-episodes",
            (),
            log.n_episodes,
            f"the log has {log.n_episodes} episode{'s' * (log.n_episodes != 1)}: with fewer than {FEW_EPISODES}, steps "
            "that are served end an episode less often than in truth; record more episodes, and read how many runs had "
            "stopped beside every result",
        )


def no_ends(log: "Log") -> Iterator[Finding]:
    """Find that no column tells where episodes begin or end."""
    if "terminated" in log.derived:
        yield Finding(
            "warning",
            "no-episode",
            (),
            len(log),
            "no column tells where episodes begin or how they ended, so all rows are read as one long episode that is "
            'not over; if each row is a decision by itself, say ends="every-row"; if all rows are one process that '
            'goes on, say ends="unfinished"; else name columns with episode= and terminated=',
        )
