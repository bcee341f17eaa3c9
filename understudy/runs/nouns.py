"""What an episode is called: a decision, where each is a single one, as in a log of clicks."""

from understudy.runs.run import Runs


def noun_of(*sets: Runs) -> str:
    """Return what an episode of these sets is called: a decision, where all logs are of single ones."""
    logs = [(set_.about.log_rows, set_.about.log_episodes) for set_ in sets]
    return "decision" if logs and all(rows is not None and rows == episodes for rows, episodes in logs) else "episode"


def one_of(noun: str) -> str:
    """Return the noun with its article.

    >>> one_of("episode"), one_of("decision")
    ('an episode', 'a decision')
    """
    return f"{'an' if noun == 'episode' else 'a'} {noun}"


def place_of(noun: str, step: int) -> str:
    """Return a step of a run in words; where each decision is a step, it is called by that name.

    >>> place_of("episode", 1_200), place_of("decision", 1_200)
    ('step 1,200', 'decision 1,200')
    """
    return f"{noun if noun == 'decision' else 'step'} {step:,}"
