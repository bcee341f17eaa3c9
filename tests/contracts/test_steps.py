"""Steps as learners are given them, and observations that their receivers may write on."""

import numpy as np
import pytest

from understudy.contracts import Step, Steps, owned


def test_steps_made_one_by_one_become_arrays_in_order():
    steps = Steps.of(Step([0, 1], 2, 0.5, [1, 1], False, False, row=7), Step([1, 1], 0, -1.0, [0, 0], True, False))
    assert steps.observation.tolist() == [[0, 1], [1, 1]]
    assert (steps.action.tolist(), steps.reward.tolist()) == ([2, 0], [0.5, -1.0])
    assert steps.next_observation.tolist() == [[1, 1], [0, 0]]
    assert (steps.terminated.tolist(), steps.truncated.tolist()) == ([False, True], [False, False])


def test_a_step_of_a_true_environment_has_no_row():
    step = Step(0, 1, 0.0, 1, False, False)
    assert (step.row, step.emission) == (-1, -1)


@pytest.mark.parametrize(
    "observation", [np.arange(3), {"a": np.arange(3)}, [np.arange(3)], np.array([{"a": np.arange(3)}])]
)
def test_what_can_be_written_on_is_copied_throughout(observation):
    def first(part):
        while not isinstance(part, np.ndarray) or part.dtype.hasobject:
            part = part["a"] if isinstance(part, dict) else part[0]
        return part

    copy = owned(observation)
    first(copy)[0] = 99
    assert first(observation)[0] == 0


@pytest.mark.parametrize("observation", [3, 0.5, "text", np.int64(3), np.float32(0.5), np.bool_(True)])
def test_numbers_and_texts_are_handed_on_as_they_are(observation):
    assert owned(observation) is observation
