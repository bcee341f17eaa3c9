"""Size of a page of many runs, and how soon a browser has drawn its first chart: python -m benchmarks.page."""

import shutil
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import numpy as np

from understudy.contracts import Stop
from understudy.reporting import report
from understudy.runs import About, Run, Runs

SETS, RUNS, READINGS, EVERY = 10, 100, 200, 1000


def made_up_runs(level: float, probes: list[str], readings: int, rng: np.random.Generator) -> Runs:
    """Return runs of different lengths whose curves rise to a level, with noise."""
    made = []
    for seed in range(RUNS):
        n = int(readings * rng.uniform(0.7, 1))
        steps = EVERY * np.arange(1, n + 1)
        ends = np.arange(100, steps[-1] + 1, 100)
        rise = level * (1 - np.exp(-np.arange(n) / 40))
        curves = {probe: rise + 0.005 * np.cumsum(rng.normal(size=n)) for probe in probes}
        rows, none = np.zeros(steps[-1], np.int32), np.zeros(1, np.int32)
        stop = Stop("queue empty", state=3, place=f"page={seed % 7}")
        final = {probe: float(curve[-1]) for probe, curve in curves.items()}
        made.append(Run(seed, rows, none, None, ends, rng.normal(size=len(ends)), steps, curves, final, stop))
    earned = {"error": 0.01, "skew": 0.0, "single": 0.1, "low": -1.0, "high": 1.0}
    parts = {"rows": [10**6], "episodes": [1000], "earned": [100.0]}
    about = About(
        simulator={"simulator": "psrs"}, learner={"class": "QLearning", "level": level}, log="ab" * 8,
        log_rows=10**6, log_episodes=1000, log_return=0.1, log_returns=earned | parts, seed=1,
    )  # fmt: skip
    return Runs(tuple(made), about)


def write(path: Path, n_probes: int = 1, readings: int = READINGS) -> Path:
    """Write the page of ten sets of a hundred runs each."""
    rng = np.random.default_rng(0)
    probes = [f"probe {number}" for number in range(n_probes)]
    return report({f"set {n}": made_up_runs(1 + n / 10, probes, readings, rng) for n in range(SETS)}, path)


def drawn_after(page: Path, times: int = 5) -> list[float]:
    """Return the seconds from the start of loading a page until its first chart is drawn; empty without a browser."""
    browser = shutil.which("chromium")
    if browser is None:
        return []
    from playwright.sync_api import sync_playwright

    found = []
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        for _ in range(times):
            tab = running.new_page()
            tab.goto(page.as_uri())
            found.append(tab.evaluate("performance.getEntriesByName('first chart drawn')[0].startTime") / 1000)
            tab.close()
        running.close()
    return found


def main() -> int:
    """Measure pages with one and three probes, and with long curves."""
    with tempfile.TemporaryDirectory() as folder:
        for n_probes, readings in ((1, READINGS), (3, READINGS), (3, 10 * READINGS)):
            begin = perf_counter()
            page = write(Path(folder) / "report.html", n_probes, readings)
            took = perf_counter() - begin
            size = page.stat().st_size / 1e6
            drawn = ", ".join(f"{seconds:.2f}" for seconds in sorted(drawn_after(page))) or "not measured"
            print(f"{SETS} sets of {RUNS} runs, {n_probes} probes, {readings} readings: {size:.2f} MB, written in "
                  f"{took:.1f} s; first chart drawn after {drawn} s")  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
