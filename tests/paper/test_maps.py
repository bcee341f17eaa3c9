import numpy as np

from understudy.paper import maps


def test_a_name_stands_amid_each_part_of_a_state():
    states = np.zeros((20, 20), int)
    states[:, 10:] = 1
    states[12:18, 2:8] = 1  # a part of the upper left cell
    found = maps.parts_of(states, side=10)
    assert [state for *_, state in found] == [0, 1, 0, 1, 1]
    for x, y, state in found:
        assert states[int(y * 20), int(x * 20)] == state


def test_amid_is_within_a_ring():
    ring = np.ones((21, 21), bool)
    ring[5:16, 5:16] = False
    assert ring[maps.amid(ring)]


def test_each_picture_has_a_panel_for_each_of_its_parts():
    states = np.arange(4).repeat(25).reshape(10, 10)
    assert len(maps.state_maps(np.array([0.5, 0.3, 0.2, 0.0]), {"one": states, "other": states}, 2).axes) == 3
    path = np.array([[0.1, 0.1], [0.6, 0.1], [0.6, 0.9]])
    assert len(maps.bundles({"a": [(path, np.array([True, False]))]}, 2).axes) == 1
    assert len(maps.pairs([("a", path, path), ("a", path, path)], 2).axes) == 2


def test_steps_that_are_impossible_stand_out():
    path = np.array([[0.1, 0.1], [0.6, 0.1], [0.6, 0.9]])
    axes = maps.bundles({"a": [(path, np.array([True, False]))]}, 2).axes[0]
    drawn = {line.get_color(): line.get_xydata() for line in axes.lines if len(line.get_xydata()) == 3}
    assert np.allclose(drawn[maps.PALETTE[1]][:2], path[1:])
    assert np.allclose(drawn[maps.MUTED][:2], path[:2])
