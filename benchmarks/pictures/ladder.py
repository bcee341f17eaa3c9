"""A picture of what may serve a step when a state has no row left, and of what each of these gives up."""

from benchmarks.pictures.accepting import draw_frame
from benchmarks.pictures.svg_file import Drawing

RUNGS = (
    ("own rows", "an unused row of the state itself", "nothing:", "exact"),
    ("like", "an unused row of a state that leads on alike", "detail:", "curves are smoothed"),
    ("reuse", "a row of the state that was served before", "fresh chance:", "curves flatter"),
    ("cut", "nothing: the episode ends, the next begins", "rare episodes:", "those cut are missing"),
)
"""What serves a step, how, and what that gives up, in the order in which they are tried."""

ROW, SPACE, TOP, LANE = 26, 6, 62, 84


def rungs() -> str:
    """Return the picture of the rungs of a ladder."""
    drawing = Drawing(
        640, TOP + LANE * len(RUNGS) + 4, "What serves a step once a state has no row left, and what that gives up",
        "Own rows give up nothing; rows of like states give up detail; rows served before give up fresh chance, so "
        "that a learner can exploit noise; cut episodes are missing from the result.",
    )  # fmt: skip
    for x, words in ((16, "rung"), (112, "what is served"), (478, "what is given up")):
        drawing.words(x, 28, words, color="muted", size=12)
    drawing.line([(16, 40), (624, 40)], stroke="rule")
    for place, (name, served, lost, effect) in enumerate(RUNGS):
        top = TOP + LANE * place
        drawing.words(16, top + 18, name, bold=True)
        draw_queue(drawing, top, name)
        drawing.words(112, top + 48, served, color="muted", size=12)
        drawing.words(478, top + 12, lost, size=13, bold=True)
        drawing.words(478, top + 31, effect, color="color-3" if place == 0 else "color-2", size=13)
    return drawing.text()


def draw_queue(drawing: Drawing, top: float, name: str) -> None:
    """Draw the queue of the state, and where the row that is served comes from."""
    left, n_own = 112, 5
    for at in range(n_own):
        is_next = name == "own rows" and at == 3
        kind = (
            "waits"
            if name == "own rows" and at > 3
            else "served"
            if is_next or (name == "reuse" and at == 1)
            else "passed"
        )
        draw_frame(drawing, left + (ROW + SPACE) * at, top, ROW, ROW, kind)
    end = left + (ROW + SPACE) * n_own
    if name == "own rows":
        serve(drawing, left + (ROW + SPACE) * 3 + ROW / 2, top)
        return
    drawing.box(end, top, ROW, ROW, stroke="color-2", dashed=True)
    if name == "like":
        other = end + ROW + 34
        drawing.words(end + ROW + 17, top + 19, "≈", color="muted", size=18, anchor="middle")
        for at in range(4):
            draw_frame(drawing, other + (ROW + SPACE) * at, top, ROW, ROW, ("passed", "served", "waits", "waits")[at])
        serve(drawing, other + ROW + SPACE + ROW / 2, top)
    elif name == "reuse":
        serve(drawing, left + ROW + SPACE + ROW / 2, top)
        drawing.words(end + ROW + 12, top + 18, "again, and again", color="muted", size=12)
    else:
        drawing.line([(end + ROW + 6, top + ROW / 2), (end + ROW + 38, top + ROW / 2)], stroke="color-2", arrow=True)
        drawing.words(end + ROW + 44, top + 18, "next episode", color="muted", size=12)


def serve(drawing: Drawing, x: float, top: float) -> None:
    """Draw the mark of the row that is served: an arrow out of the top of its box."""
    drawing.line([(x, top + 4), (x, top - 16)], stroke="color-1", width=1.8, arrow=True)
