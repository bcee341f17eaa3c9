"""Every position of `rules` and `cursor` is used once, and causes have names."""

from understudy.simulators.kernels import layout
from understudy.simulators.sharing import POSITION

RULES = (
    "ACCEPT BY_STATE STOP_RULE READ_ORDER REPLACE_OPENINGS TIME_LIMIT REDRAW_OBSERVATION RUNNING_BOUND LACKS_SUPPORT "
    "CUT_EPISODES CUT_WINDOW"
)
EPISODE = "STATE CODE LATENT EPISODE_STEPS EPISODE_OVER"
REST = (
    "TAPE_READ EPISODES_OPENED QUEUES_FILLED STEPS_SERVED ROWS_TAKEN ROWS_PASSED_OVER OPENED_WITH_REPLACEMENT "
    "CAUSE STOP_STATE STOP_ACTION STOP_NANOMASS CANDIDATE_ROW CANDIDATE_END EPISODES_ACCEPTED BOUNDS_EXCEEDED "
    "RUNG EPISODES_CUT PLACES_NOTED LIKE_STEPS REUSE_STEPS UNTRIED_STEPS "
    "STEPS_AT_CUT CUTS_IN_A_ROW"
)


def positions(names):
    return sorted(getattr(layout, name) for name in names.split())


def test_every_position_has_one_name():
    assert positions(RULES) == list(range(layout.N_RULES))
    assert positions(f"{EPISODE} {REST}") == list(range(layout.N_CURSOR))


def test_shared_rehearsals_keep_apart_what_belongs_to_an_episode():
    assert list(range(layout.N_CURSOR))[POSITION] == positions(EPISODE)


def test_every_cause_has_its_name():
    named = {
        "RUNNING": "running", "QUEUE_EMPTY": "queue empty", "ACTION_QUEUE_EMPTY": "queue empty for action",
        "UNSUPPORTED": "unsupported", "NO_STATE": "no state", "NO_OPENING": "no opening",
        "EXOGENOUS_EMPTY": "exogenous queue empty", "USED_UP": "used up", "CUT_OFF": "cut off",
        "TOO_MANY_CUT": "too many cut",
        "EXOGENOUS_ENDED": "exogenous part ended", "REWARD_UNKNOWN": "reward unknown",
    }  # fmt: skip
    assert {name: layout.CAUSES[getattr(layout, name)] for name in named} == named
    assert len(layout.CAUSES) == len(named)
