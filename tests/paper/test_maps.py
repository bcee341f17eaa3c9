import numpy as np
from matplotlib.colors import to_hex

from paper import maps


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


def test_only_odd_states_are_colored():
    states = np.arange(4).repeat(25).reshape(10, 10)
    shares = np.array([0.5, 0.3, 0.2, 0.0])
    figure = maps.state_maps(shares, {"one": states, "other": states}, {"one": {2}, "other": set()}, 2)
    _, one, other = figure.axes
    red, green, blue = np.moveaxis(one.images[0].get_array(), -1, 0)
    colored = (np.ptp([red, green, blue], axis=0) > 0.1).astype(int)
    assert (colored == (states == 2)).all()
    assert len(one.collections) == 1  # its outline
    assert not other.collections


def test_moves_that_are_impossible_stand_out_and_frequent_ones_are_wider():
    possible, impossible = np.zeros((4, 4), int), np.zeros((4, 4), int)
    possible[0, 1], possible[1, 3], possible[2, 2], impossible[0, 3] = 9, 3, 1, 1
    (axes,) = maps.flows({"a": (possible, impossible)}, 2, n_rows=1).axes
    arrows = [patch for patch in axes.patches if hasattr(patch, "get_arrowstyle")]
    often, seldom, never = arrows
    assert often.get_linewidth() > seldom.get_linewidth() > never.get_linewidth()
    colors = [to_hex(arrow.get_edgecolor()) for arrow in arrows]
    assert colors == [maps.MUTED, maps.MUTED, maps.PALETTE[1]]
    assert [line.get_xydata().tolist() for line in axes.lines if line.get_marker() == "o"] == [[[0.25, 0.75]]]


def test_a_row_of_pairs_has_its_title_and_marks_where_they_part():
    path = np.array([[0.1, 0.1], [0.6, 0.1], [0.6, 0.9]])
    rows = {"one": [maps.PathPair("part", path, path, 1)], "other": [maps.PathPair("agree", path, path, None)]}
    figure = maps.draw_path_pairs(rows, 2)
    assert [text.get_text() for text in figure.texts] == ["one", "other"]
    marks = [[line.get_xydata()[0].tolist() for line in axes.lines if line.get_marker() == "D"] for axes in figure.axes]
    assert marks == [[[0.6, 0.1]], []]
    assert len(figure.legends[0].get_texts()) == 5
