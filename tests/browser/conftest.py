"""Pages in a real browser: Debian's Chromium without a window, driven by Playwright. One browser for all tests."""

import os
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from understudy.contracts import Stop
from understudy.logs import Audit, Finding
from understudy.reporting.measurements import measure
from understudy.reporting.page import write_page

HOSTILE = '</script><img src=x onerror="window.hacked=1">\'"&\u2028${x}'
"""A name that would run a script wherever it is not escaped: as HTML, in an attribute, in a script."""

PATIENCE = 60_000
"""Milliseconds that a browser may take for one thing, on a machine that has much else to do."""

AXE = Path(__file__).parents[2] / ".venv" / "axe-core" / "package" / "axe.min.js"
"""Where `make` puts the accessibility checker."""


def missing(what):
    """Skip, or fail where the browser is required: `.ci/run` has installed it."""
    if os.environ.get("UNDERSTUDY_BROWSER") == "required":
        pytest.fail(what)
    pytest.skip(what)


@pytest.fixture(scope="session")
def browser():
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if path is None:
        missing("there is no Chromium: apt-get install chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ModuleNotFoundError:
        missing("there is no Playwright: pip install playwright")
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield running
        running.close()


@pytest.fixture(scope="session")
def hostile():
    """The name that everything on the page has."""
    return HOSTILE


@pytest.fixture(scope="session")
def axe():
    path = Path(os.environ.get("UNDERSTUDY_AXE", AXE))
    if not path.exists():
        missing(f"there is no axe-core in {path}: make {AXE.relative_to(AXE.parents[3])} (it needs npm)")
    return path.read_text(encoding="utf-8")


def with_returns(runs, seed=0):
    """The same runs, whose episodes earn more and more."""
    rng = np.random.default_rng(seed)
    stop = Stop("queue empty for action", state=3, place=f"{HOSTILE}=3", action=1, label=HOSTILE, column=HOSTILE)

    def paid(set_):
        made = (
            replace(run, returns=np.linspace(0, 3, len(run.ends)) + rng.normal(size=len(run.ends)), stopped=stop)
            for run in set_
        )
        return replace(set_, runs=tuple(made), about=replace(set_.about, log_return=1.0))

    return replace(paid(runs), halves=tuple(map(paid, runs.halves)))


@pytest.fixture(scope="session")
def page_file(tmp_path_factory, halved_of, on_ladder):
    """A page of runs, some of them on a ladder, whose names are all hostile."""
    hostile = {"probe": HOSTILE, "learner": {"class": HOSTILE, HOSTILE: HOSTILE}}
    whole = with_returns(halved_of([400] * 8 + [300], [240] * 4, **hostile))
    ladder = on_ladder(
        with_returns(halved_of([380] * 9, [240] * 4, level=1.0, **hostile)), {250: 1, 300: 2}, cuts=[260, 320]
    )
    sets = {HOSTILE: whole, f"ladder {HOSTILE}": ladder}
    audit = Audit((Finding("warning", HOSTILE, (1,), 1, HOSTILE),), 200, 20, 2)
    path = tmp_path_factory.mktemp(HOSTILE.replace("/", "")) / "report.html"
    notes = {HOSTILE: HOSTILE}
    return write_page(measure(sets, margin=0.3), path, audit=audit, title=HOSTILE, command=HOSTILE, rung_notes=notes)


@pytest.fixture(scope="session")
def comparison_file(tmp_path_factory, halved_of):
    """A page of two learners with hostile names on the same halves of one log."""
    sets = {}
    for place, name in enumerate((HOSTILE, f"other {HOSTILE}")):
        runs = halved_of([400] * 8, [240] * 4, learner={"class": HOSTILE, "gamma": place})
        sets[name] = with_returns(runs, seed=place)
    return write_page(measure(sets, margin=0.3), tmp_path_factory.mktemp("comparison") / "report.html", title=HOSTILE)


def until_true(page, expression):
    """Wait until a JS expression is true: Playwright's own way evaluates texts, which the page does not allow."""
    for _ in range(PATIENCE // 50):
        if page.evaluate(expression):
            return True
        page.wait_for_timeout(50)
    return False


class Opened:
    """A page in the browser, with what it said and asked for."""

    def __init__(self, browser, file, **options):
        self.context = browser.new_context(**{"viewport": {"width": 1200, "height": 900}} | options)
        self.said, self.asked = [], []
        self.page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.page.on("console", self.note)
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.said.append(dialog.message), dialog.dismiss()))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(file.as_uri())
        if options.get("java_script_enabled", True):
            assert until_true(self.page, "performance.getEntriesByName('charts drawn').length === 1")

    def note(self, message):
        if not message.text.startswith("Canvas2D: Multiple readback"):  # the tests' own, when they count pixels
            self.said.append(message.text)

    def close(self):
        self.context.close()


@pytest.fixture(scope="session")
def until():
    return until_true


@pytest.fixture
def opened(browser, page_file):
    """Open the page, with options of a Playwright context; what it said and asked for is checked when it is closed."""
    pages = []

    def open_page(file=page_file, **options):
        pages.append(Opened(browser, file, **options))
        return pages[-1].page

    yield open_page
    said, asked = [one for page in pages for one in page.said], [one for page in pages for one in page.asked]
    hacked = [page.page.evaluate("window.hacked") for page in pages]
    for page in pages:
        page.close()
    assert said == []
    assert {url.split(":")[0] for url in asked} == {"file"}
    assert len(asked) == len(pages)  # each asked for itself, and for nothing else
    assert set(hacked) == {None}
