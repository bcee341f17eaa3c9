"""Optional members of simulators are read with a default for those that do not have them."""

import numpy as np
import pytest

from understudy.contracts.simulating import (
    is_compiled,
    is_exhaustible,
    is_foreseeable,
    is_real,
    log_of,
    n_actions_of,
    n_states_of,
    passes_over,
    serves_emissions,
    serves_positions,
    serves_rows,
    start_copies,
    states_fingerprint,
    steps_back,
)
from understudy.encoders import Function
from understudy.envs import Grid
from understudy.errors import ContractError
from understudy.logs import Log
from understudy.simulators import any_row, model, pers, psrs, real, replay

ENV = Grid(3)
LOG = Log.from_columns(**ENV.rollout(np.full((9, 5), 0.2), 20, seed=0))


class Bare:
    """A simulator of promises only."""

    def start(self, seed):
        return f"rehearsal {seed}"

    def __repr__(self):
        return "Bare()"


def test_a_simulator_of_promises_only_has_defaults():
    bare = Bare()
    assert is_exhaustible(bare)
    assert serves_rows(bare)
    assert not any(
        read(bare) for read in (is_real, serves_emissions, is_compiled, is_foreseeable, passes_over, steps_back)
    )
    assert log_of(bare) is n_states_of(bare) is n_actions_of(bare) is states_fingerprint(bare) is None


@pytest.mark.parametrize(
    ("read", "expected"),
    [
        (is_real, [False, False, True]), (is_exhaustible, [True, False, False]), (serves_rows, [True, True, False]),
        (serves_emissions, [False, True, False]), (is_compiled, [True, True, True]),
        (is_foreseeable, [True, False, False]), (n_actions_of, [5, 5, 5]), (n_states_of, [9, 9, 9]),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)  # fmt: skip
def test_ours_say_what_they_are(read, expected):
    assert [read(one) for one in (psrs(LOG), model(LOG, emission="uniform"), real(ENV))] == expected


def test_episodes_may_be_passed_over_and_only_of_several_steps_do_learners_step_back():
    decisions = Log.from_columns(
        observation=[0, 1], action=[0, 1], reward=[0, 1], propensity=[0.5] * 2, ends="every-row"
    )
    steps = Log.from_columns(observation=[0, 1], action=[0, 1], reward=[0, 1], propensity=[0.5] * 2, terminated=[0, 1])
    found = [(passes_over(one), steps_back(one)) for one in (psrs(LOG), replay(decisions), pers(steps))]
    assert found == [(False, False), (True, False), (True, True)]


def test_observations_have_positions_where_all_are_those_of_a_log():
    assert serves_positions(psrs(LOG))
    assert serves_positions(model(LOG, emission="row"))
    assert not serves_positions(model(LOG))  # next observations are drawn anew
    assert not serves_positions(real(ENV))
    assert not serves_positions(Bare())


def test_a_log_is_found_only_where_it_is_one():
    assert log_of(psrs(LOG)) is LOG
    assert log_of(real(ENV)) is None
    bare = Bare()
    bare.log = "events.parquet"
    assert log_of(bare) is None


def test_fingerprints_are_those_of_the_states():
    assert states_fingerprint(psrs(LOG)) == states_fingerprint(any_row(LOG, Function(lambda x: x))) is not None
    assert states_fingerprint(psrs(LOG)) != states_fingerprint(psrs(LOG, Function(lambda x: x // 2)))
    bare = Bare()
    bare.index = Bare()
    bare.index.fingerprint = 3
    assert states_fingerprint(bare) is None


def test_copies_share_a_log_only_where_the_simulator_offers_it():
    assert start_copies(Bare(), 7, 1) == ["rehearsal 7"]
    assert len(start_copies(psrs(LOG), 7, 3)) == 3
    with pytest.raises(ContractError, match=r"Bare\(\) cannot be shared by 3 envs; use one, or give it start_shared"):
        start_copies(Bare(), 7, 3)


def test_shared_rehearsals_serve_no_row_twice():
    rehearsals = start_copies(psrs(LOG), 7, 3)
    rows = []
    for rehearsal in rehearsals:
        rehearsal.begin()
        rows.append(rehearsal.step(np.full(5, 0.2)).row)
    assert len(set(rows)) == 3
