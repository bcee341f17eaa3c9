"""Two pictures of replay: the queues of a small log that a run was served from, and rejection sampling in one state."""

import numpy as np

import understudy as us
from benchmarks.pictures.svg_file import Drawing

PAGES, OFFERS = ("home", "search", "cart"), ("A", "B")
BOX, GAP, LEFT = 56, 7, 66
"""The width of a row in the picture, the space between two, and where the first one begins."""

VISITS = (
    ("A", "search", "B", "left"), ("B", "search", "A", "cart", "B", "sold"), ("A", "left"),
    ("B", "search", "B", "cart", "A", "left"), ("A", "search", "A", "cart", "B", "sold"),
    ("B", "search", "B", "left"), ("A", "search", "B", "cart", "B", "sold"), ("B", "left"),
)  # fmt: skip
"""The log: for each visit its offers, each with what followed."""


def shop_log() -> us.Log:
    """Return the log of the visits, which begin on the first page and go on to the next; offers were drawn evenly."""
    columns: dict[str, list] = {name: [] for name in ("observation", "action", "reward", "terminated", "episode")}
    for visit, told in enumerate(VISITS):
        for place, (offer, outcome) in enumerate(zip(told[::2], told[1::2], strict=True)):
            row = (place, OFFERS.index(offer), float(outcome == "sold"), outcome in ("left", "sold"), visit)
            for name, value in zip(columns, row, strict=True):
                columns[name].append(value)
    return us.Log.from_columns(**columns, propensity=np.full((len(columns["action"]), 2), 0.5))


def queues() -> str:
    """Return the picture of a run's queues: each row was served, passed over, or still waits."""
    log = shop_log()
    learner = us.learners.FixedPolicy(np.tile([0.2, 0.8], (3, 1)))
    run = us.simulate(us.psrs(log, order="log"), learner, seed=1)
    step_of = {int(row): step for step, row in enumerate(run.rows, start=1)}
    ended = int(run.stopped.state)
    drawing = Drawing(
        640, 348, "Queues of logged rows, one for each state, and the run that they served",
        f"Rows of three pages wait in three queues, oldest first. A learner that prefers offer B was served "
        f"{len(run.rows)} of {len(log)} rows; others were passed over; at the page {PAGES[ended]} no row was left, and "
        "the run ended.",
    )  # fmt: skip
    drawing.words(16, 26, "Each state has a queue of its logged rows, oldest first", bold=True)
    for place, page in enumerate(PAGES):
        top = 56 + 84 * place
        rows = np.flatnonzero(log.observation == place)
        looked_at = max([-1, *(at for at, row in enumerate(rows) if int(row) in step_of)])
        looked_at = len(rows) if place == ended else looked_at
        drawing.words(LEFT - 12, top + 28, page, anchor="end", bold=True)
        for at, row in enumerate(map(int, rows)):
            kind = "served" if row in step_of else "passed" if at <= looked_at else "waits"
            draw_row(drawing, LEFT + (BOX + GAP) * at, top, log, row, kind, step_of.get(row))
        if place == ended:
            at = LEFT + (BOX + GAP) * len(rows)
            drawing.box(at, top, BOX, 46, stroke="color-2", dashed=True)
            drawing.words(at + BOX / 2, top + 20, "no row\nis left", color="color-2", size=11.5, anchor="middle")
            drawing.words(at + BOX, top + 63, "the run ends here", color="color-2", size=12, anchor="end")
    legend = {
        "served": "served, as step 1, 2, 3, ... of the run",
        "passed": "passed over",
        "waits": "not looked at yet",
    }
    for x, (kind, words) in zip((16, 314, 448), legend.items(), strict=True):
        draw_frame(drawing, x, 312, 22, 18, kind)
        drawing.words(x + 30, 326, words, color="muted", size=12)
    return drawing.text()


def draw_row(drawing: Drawing, x: float, y: float, log: us.Log, row: int, kind: str, step: int | None) -> None:
    """Draw a row of the log: its offer, what followed, and the step of the run that it served."""
    draw_frame(drawing, x, y, BOX, 46, kind)
    color = "muted" if kind == "passed" else "ink"
    goes_on = f"→ {PAGES[(int(log.observation[row]) + 1) % len(PAGES)]}"
    outcome = "sold" if log.reward[row] else "left" if log.terminated[row] else goes_on
    drawing.words(x + BOX / 2, y + 20, OFFERS[int(log.action[row])], color=color, anchor="middle", bold=True)
    drawing.words(x + BOX / 2, y + 37, outcome, color=color, size=11.5, anchor="middle")
    if step is not None:
        drawing.dot(x + BOX - 4, y + 2, 9, "color-1")
        drawing.words(x + BOX - 4, y + 6, str(step), color="paper", size=11, anchor="middle", bold=True)


def draw_frame(drawing: Drawing, x: float, y: float, width: float, height: float, kind: str) -> None:
    """Draw the box of a row that was served, was passed over, or still waits."""
    if kind == "served":
        drawing.box(x, y, width, height, fill="tint-1", stroke="color-1")
    elif kind == "passed":
        drawing.box(x, y, width, height, stroke="rule")
        drawing.line([(x + 4, y + height - 4), (x + width - 4, y + 4)], stroke="rule", width=1.5)
    else:
        drawing.box(x, y, width, height, stroke="muted", dashed=True)


LOGGED, WANTED, N_ROWS = (0.5, 0.3, 0.2), (0.2, 0.3, 0.5), 1000


def rejection() -> str:
    """Return the picture of rejection sampling: of each action's logged rows, the share that is accepted."""
    rng = np.random.default_rng(0)
    action = rng.choice(3, size=N_ROWS, p=LOGGED)
    log = us.Log.from_columns(
        observation=np.zeros(N_ROWS, int), action=action, reward=np.zeros(N_ROWS),
        propensity=np.tile(LOGGED, (N_ROWS, 1)), ends="every-row",
    )  # fmt: skip
    run = us.simulate(us.psrs(log), us.learners.FixedPolicy(np.array([WANTED])), seed=0)
    counts, accepted = (np.bincount(actions, minlength=3) for actions in (action, action[run.rows]))
    bound = max(w / p for w, p in zip(WANTED, LOGGED, strict=True))
    drawing = Drawing(
        640, 336, "Rejection sampling: the learner's policy, scaled down until it fits under the logger's",
        f"Of {N_ROWS:,} logged rows of one state, {len(run.rows)} are accepted: of the actions A, B and C "
        f"{accepted[0]} of {counts[0]}, {accepted[1]} of {counts[1]} and {accepted[2]} of {counts[2]}, in the "
        "proportions of the learner's policy.",
    )  # fmt: skip
    shares = [f"{count / len(run.rows):.0%}" for count in accepted]
    panels = (
        ("1. What the logger did", counts, None, [f"{share:.0%}" for share in LOGGED], f"{N_ROWS:,} rows of one state"),
        ("2. What is accepted", counts, accepted, [f"{a} of {c}" for a, c in zip(accepted, counts, strict=True)],
         f"the learner's policy, divided\nby M = {bound:g}, fits under it"),
        ("3. What the learner meets", accepted * N_ROWS / 2 / accepted.max(), accepted, shares,
         f"{len(run.rows)} rows; it acts by\n{WANTED[0]:.0%}, {WANTED[1]:.0%} and {WANTED[2]:.0%}"),
    )  # fmt: skip
    for place, (title, bars, filled, labels, note) in enumerate(panels):
        left = 16 + 210 * place
        drawing.words(left, 28, title, bold=True)
        drawing.line([(left, 258), (left + 186, 258)], stroke="muted")
        for number, (bar, label) in enumerate(zip(bars, labels, strict=True)):
            x, height = left + 12 + 60 * number, 0.36 * bar
            if place < 2:
                drawing.box(x, 258 - height, 42, height, fill="tint-2", stroke="color-2", round_=0)
            if filled is not None:
                part = height if place == 2 else 0.36 * filled[number]
                drawing.box(x, 258 - part, 42, part, fill="color-1", round_=0)
            drawing.words(x + 21, 258 - height - 8, label, color="muted", size=11.5, anchor="middle")
            drawing.words(x + 21, 277, "ABC"[number], anchor="middle", bold=True)
        drawing.words(left, 302, note, color="muted", size=12)
    return drawing.text()
