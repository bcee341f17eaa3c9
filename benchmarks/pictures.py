"""The picture that README begins with: a simulated learning curve beside the real one.

python -m benchmarks.pictures

It is drawn of the demo's own runs, with its default settings.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import understudy as us
from understudy.demo import demo
from understudy.storage import write_whole

SHOWN = {"PSRS, latent states": "simulated, from the log", "real": "real"}
"""The sets of the demo that are drawn, and what the picture calls them."""

PICTURE = Path(__file__).parents[1] / "docs" / "pictures" / "demo.svg"


def draw() -> Path:
    """Run the demo, draw the picture, and return its path."""
    from matplotlib.figure import Figure

    with TemporaryDirectory() as folder:
        found = demo(Path(folder) / "report.html", tell=lambda text: None)
    trusted = found.measured.trusted()
    runs = {shown: found.runs[name] for name, shown in SHOWN.items()}
    figure = Figure(figsize=(8.0, 3.6), layout="constrained")
    ax = figure.subplots()
    steps = {shown: trusted[name] for name, shown in SHOWN.items() if name in trusted}
    us.plots.learning_curves(runs, reference="real", trusted=steps, ax=ax)
    for step in steps.values():
        ax.axvline(step, color="0.6", linewidth=1, linestyle=(0, (2, 3)), zorder=0)
        ax.annotate(
            f"believable up to\nstep {step:,},\nby the log alone", (step, 0.06), xycoords=("data", "axes fraction"),
            xytext=(8, 0), textcoords="offset points", ha="left", color="0.35",
        )  # fmt: skip
    ax.set_xlim(0, 1.35 * max(steps.values()))
    ax.set_ylabel("value of the learned policy")
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    PICTURE.parent.mkdir(exist_ok=True)
    write_whole(PICTURE, lambda path: figure.savefig(path, format="svg", metadata={"Date": None}))
    return PICTURE


if __name__ == "__main__":
    print(draw())
