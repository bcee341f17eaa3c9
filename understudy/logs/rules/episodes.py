"""Rules about episodes: whether their rows are together and in order, and how they end."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from understudy.logs.episodes import goes_on, later_pieces
from understudy.logs.findings import Finding, finding_in_rows

if TYPE_CHECKING:
    from understudy.logs.log import Log

FEW_EPISODES = 20  # with so many, an end of true probability .2 is served in .19 of steps or more (exactness.md)


def episode_contiguity(log: "Log") -> Iterator[Finding]:
    """Find episodes whose rows are not together."""
    rows = log.starts[later_pieces(log.episode, log.starts)]
    if len(rows):
        yield finding_in_rows(
            "error",
            "episode-contiguity",
            rows,
            f"episode {log.episode[rows[0]]} goes on in row {rows[0]} after another began, and so {{where}} in all; "
            "sort the rows by episode, or read the file with order_by=",
        )


def step_order(log: "Log") -> Iterator[Finding]:
    """Find steps that do not rise by one.

    Steps that were derived always do, unless episodes are in pieces, which another rule finds.
    """
    if "step" in log.derived:
        return
    rise = np.diff(log.step)
    inside = goes_on(log.episode)
    if np.any(inside & (rise != 1)):
        back = np.flatnonzero(inside & (rise < 1)) + 1
        if len(back):
            yield finding_in_rows(
                "error",
                "step-order",
                back,
                "step does not rise within its episode {where}; sort the rows by episode and step, or leave step out",
            )
        gaps = np.flatnonzero(inside & (rise > 1)) + 1
        if len(gaps):
            yield finding_in_rows("warning", "step-order", gaps, "step jumps {where}: rows before them are missing")
    first = log.step[log.starts[:-1]]
    values, counts = np.unique(first, return_counts=True)
    late = log.starts[:-1][first > values[np.argmax(counts)]]
    if len(late):
        yield finding_in_rows(
            "warning",
            "step-order",
            late,
            f"an episode starts after step {values[np.argmax(counts)]}, the usual first one, {{where}}: "
            "it counts as an opening all the same; drop such episodes if they did not begin there",
        )


def end_inside(log: "Log") -> Iterator[Finding]:
    """Find episodes that go on after their end."""
    rows = np.flatnonzero((log.terminated[:-1] | log.truncated[:-1]) & goes_on(log.episode))
    if len(rows):
        yield finding_in_rows(
            "error",
            "end-inside",
            rows,
            "terminated or truncated is set {where}, but the episode goes on; fix the flags, or leave episode out",
        )


def both_ends(log: "Log") -> Iterator[Finding]:
    """Find rows that are both terminated and truncated."""
    rows = np.flatnonzero(log.terminated & log.truncated)
    if len(rows):
        yield finding_in_rows(
            "warning", "both-ends", rows, "terminated and truncated are both set {where}; they are read as terminated"
        )


def unfinished(log: "Log") -> Iterator[Finding]:
    """Find episodes that end neither terminated nor truncated."""
    rows = log.starts[1:][log.unfinished] - 1
    if len(rows) and not len(later_pieces(log.episode, log.starts)):  # the end of a piece is not the end of an episode
        lengths = np.diff(log.starts) + (log.unfinished & ("next_observation" in log.derived))  # with the row dropped
        stopped, some_ended = lengths[log.unfinished], log.terminated.any() or log.truncated.any()
        limit = len(stopped) > 1 and np.all(stopped == lengths.max())
        advice = "; set truncated= where a time limit ended them" if some_ended else ""
        if limit:
            advice = (
                f". All of these have {lengths.max():,} steps, and no episode has more: a time limit of that length "
                f"seems to have ended them{', so set truncated= there' if some_ended else ''}"
            )
        yield finding_in_rows(
            "note",
            "unfinished",
            rows,
            "an episode ends neither terminated nor truncated {where}: the recording is taken to have been cut off "
            f"there, so such episodes keep their places, and none is moved past them{advice}",
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
            'not over; if it is one, say ends="unfinished"; if each row is a decision by itself, say ends="every-row"; '
            "else name columns with episode= and terminated=",
        )
