"""Figure 1: off-policy evaluation and offline learner simulation, drawn as boxes and arrows."""

from typing import TYPE_CHECKING, Any

from paper.items import Columns
from understudy.reporting.axes import canvas
from understudy.reporting.svg import INK, MUTED, PALETTE, PAPER, drawn_alike

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BOXES: dict[str, list[Any]] = {
    "lane": ["evaluation"] * 4 + ["simulation"] * 4,
    "box": [
        "log",
        "fixed policy",
        "estimator",
        "the policy's value",
        "log",
        "simulator",
        "learner",
        "its learning curve",
    ],
    "left": [20, 20, 320, 690, 20, 250, 480, 710],
    "top": [44, 124, 84, 84, 262, 262, 262, 262],
    "width": [150, 150, 170, 190, 130, 130, 130, 170],
}
"""The boxes of the figure: their texts, and places in pixels."""

ARROWS: list[tuple[tuple[float, float], tuple[float, float], str, tuple[float, float]]] = [
    ((170, 71), (320, 104), "all rows", (252, 70)),
    ((170, 151), (320, 118), "its probabilities", (262, 154)),
    ((490, 111), (690, 111), "reweighted or modeled", (590, 96)),
    ((150, 289), (250, 289), "row by row", (200, 276)),
    ((380, 278), (480, 278), "a step", (430, 265)),
    ((480, 300), (380, 300), "its policy now", (430, 315)),
    ((610, 289), (710, 289), "probes", (660, 276)),
]
"""The arrows: where each begins and ends, its text, and the place of the text."""


def evaluation_and_simulation() -> "tuple[Figure, Columns]":
    """Draw off-policy evaluation and offline learner simulation, one above the other, and the table of their boxes."""
    from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

    width, height, down = 900, 336, 54
    colors = {"log": MUTED, "fixed policy": PALETTE[1], "learner": PALETTE[1]}
    colors |= {"estimator": PALETTE[0], "simulator": PALETTE[0]}
    look: dict[str, Any] = {"arrowstyle": "-|>", "mutation_scale": 14, "color": MUTED, "linewidth": 1.4}
    titles = {
        "Off-policy evaluation (OPE)": ("a log and a policy that never changes give a number", 18),
        "Offline learner simulation (OLS)": ("a learner asks for steps, and changes its policy after each", 226),
    }
    with drawn_alike():
        figure, place = canvas(width, height)
        axes = place(0, 0, width, height)
        axes.set(xlim=(0, width), ylim=(height, 0))
        axes.axis("off")
        for title, (rest, top) in titles.items():
            axes.text(20, top, title, va="center", fontsize=13, fontweight="bold")
            axes.text(28 + 8.1 * len(title), top, rest, va="center", color=MUTED)
        for _, box, left, top, across in zip(*BOXES.values(), strict=True):
            color = colors.get(box, PALETTE[2])
            for face, alpha in ((PAPER, 1.0), (color, 0.12)):
                shape = FancyBboxPatch((left, top), across, down, boxstyle="round,pad=0,rounding_size=9")
                shape.set(edgecolor=color, linewidth=1.4, facecolor=(face, alpha))
                axes.add_patch(shape)
            axes.text(left + across / 2, top + down / 2, box, ha="center", va="center", color=INK)
        for begin, end, label, at in ARROWS:
            axes.add_patch(FancyArrowPatch(begin, end, shrinkA=3, shrinkB=3, **look))
            axes.text(*at, label, ha="center", va="center", color=MUTED, fontsize=11)
    return figure, BOXES
