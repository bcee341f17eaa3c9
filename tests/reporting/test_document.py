import json
import re
from html import escape, unescape
from importlib.resources import files

import numpy as np
import pytest

import understudy as us
from understudy.errors import SettingError
from understudy.logs import Audit, Finding
from understudy.reporting import report
from understudy.reporting.document import FORMAT, VERSION, plain
from understudy.tables import Column, Table
from understudy.trust import Beyond, Forecast, Selfcheck
from understudy.trust.evidence import Evidence
from understudy.trust.self_tests import SelfTest

SCHEMA = json.loads((files("understudy.reporting") / "report_schema.json").read_text(encoding="utf-8"))
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?(?:e-?\d+)?")


def refuse(word):
    raise AssertionError(f"{word} is not JSON")


def written(path):
    return json.loads(path.with_suffix(".json").read_text(encoding="utf-8"), parse_constant=refuse)


@pytest.fixture(scope="module")
def full_page(tmp_path_factory, halved_of, on_ladder, runs_of, real_of):
    """A page with all of its parts."""
    finding = Finding("warning", "a-rule", (1,), 1, "1 row is odd")
    tests = (SelfTest("shapes", "looked at shapes", 1.0, 0.5, "nothing", 0.05),)
    env = us.envs.NoisyGrid(1)
    log = us.record(env, episodes=30, seed=0)
    earning = {"log_return": 0.5, "log_return_error": 0.1}
    ladder = on_ladder(halved_of([100] * 8, [60] * 4, **earning), {40: 1}, cuts=[60])
    found = Beyond(50, 40, 100, 0.3, "g", (Evidence("less log", 50, "then it ends"),), ladder, ("like",))
    return report(
        {"psrs": halved_of([100] * 8, [60] * 4, **earning), "ladder": ladder, "bare": runs_of([40]),
         "real": real_of([90] * 3)},
        tmp_path_factory.mktemp("page") / "report.html", margin=0.3, audit=Audit((finding,), 9, 1, 2),
        selfcheck=Selfcheck(tests, 0.05, 200, 20, tested_states=True), beyond={"ladder": found},
        forecasts={"psrs": Forecast(95, (80, 110), 0.9, 5, {"page=3": 1.0}, 19, 0)},
        states=us.encoders.Function(env.latent).audit(log),
    )  # fmt: skip


def test_the_file_beside_a_page_follows_its_schema(full_page, tmp_path, runs_of):
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is in the extra 'test'")
    validator = jsonschema.Draft202012Validator(SCHEMA)
    validator.check_schema(SCHEMA)
    content = written(full_page)
    validator.validate(content)
    assert (content["format"], content["version"]) == (FORMAT, VERSION)
    bare = written(report(runs_of([40]), tmp_path / "bare.html"))
    validator.validate(bare)
    assert (bare["audit"], bare["selfchecks"], bare["tables"]["forecasts"]) == (None, {}, None)
    wrong = [
        content | {"version": "2.0"},
        content | {"extra": 1},
        {k: v for k, v in content.items() if k != "decision"},
    ]
    assert not any(validator.is_valid(one) for one in wrong)


def test_every_number_on_the_page_is_in_the_file(full_page):
    text = re.sub(r"<(script|style|svg)\b.*?</\1>", " ", full_page.read_text(encoding="utf-8"), flags=re.DOTALL)
    text = text[text.index("<main>") :]
    for part in (
        r"<figcaption>.*?</figcaption>",
        r'<details class="glossary">.*?</details>',
    ):  # words that never change
        text = re.sub(part, " ", text, flags=re.DOTALL)
    shown = set(NUMBER.findall(unescape(re.sub(r"<[^>]+>", " ", text))))
    held = set(
        NUMBER.findall((full_page.with_suffix(".json")).read_text(encoding="utf-8").encode().decode("unicode_escape"))
    )
    assert len(shown) > 60
    assert shown - held == set()


def test_values_are_there_beside_their_texts(full_page):
    content = written(full_page)
    assert content["sets"]["ladder"]["horizons"] == {"trusted": 50, "exact": 40, "nine_of_ten": 100, "longest": 100}
    assert content["sets"]["psrs"]["forecast"]["steps"] == 95
    assert content["sets"]["psrs"]["seeds"] == [str(seed) for seed in range(8)]
    assert content["sets"]["psrs"]["stops"] == [{"cause": "queue empty", "what": "state 3", "runs": 8}]
    assert content["decision"]["sentence"]
    table = content["tables"]["efficiency"]
    assert [row[0] for row in table["rows"]] == ["psrs", "ladder", "bare", "real"]
    assert table["values"][0][2] == 100.0


def test_the_states_that_the_picture_draws_are_in_the_file(tmp_path, runs_of):
    visits = {"page": ["home", "cart", "home", "search"] * 30, "action": [0, 1] * 60, "reward": [0.0] * 120}
    log = us.read(visits, observation="page", ends="every-row")
    home = log.observation[0]
    audit = us.encoders.Function(lambda x: np.where(np.asarray(x) == home, 0, 1)).audit(log)
    path = report(runs_of([40]), tmp_path / "report.html", states=audit)
    (found,) = written(path)["states"]
    assert found["picture"]["states"] == [
        {"state": 0, "rows": 60, "suspicious": False, "example": "page=home"},
        {"state": 1, "rows": 60, "suspicious": False, "example": "page=cart"},
    ]
    later = us.encoders.StateAudit.from_json(found["audit"])  # as a results folder keeps it
    assert written(report(runs_of([40]), path, states=later))["states"] == [found]


def test_states_in_a_plane_have_their_points_in_the_file_and_their_numbers_on_the_page(tmp_path, runs_of):
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is in the extra 'test'")
    grid = us.envs.ContinuousGrid(size=3)
    log = us.Log.from_columns(**grid.rollout_cells(np.full((9, 5), 0.2), steps=4000, seed=1))
    path = report(runs_of([40]), tmp_path / "report.html", states=us.encoders.Function(grid.latent).audit(log))
    content = written(path)
    jsonschema.Draft202012Validator(SCHEMA).validate(content)
    (drawn,) = [one["picture"] for one in content["states"]]
    assert len(drawn["points"]["x"]) == len(drawn["points"]["y"]) == len(drawn["points"]["state"]) == 1500
    page = path.read_text(encoding="utf-8")
    assert "1,500 of the 4,000 observations of the log" in page
    assert all(escape(row[1]) in page for row in drawn["table"]["rows"])


def test_a_file_that_is_not_ours_is_never_replaced(tmp_path, runs_of):
    (tmp_path / "report.json").write_text('{"mine": 1}')
    with pytest.raises(SettingError, match="is not the JSON file of a page"):
        report(runs_of([40]), tmp_path / "report.html")
    assert not (tmp_path / "report.html").exists()
    assert (tmp_path / "report.json").read_text() == '{"mine": 1}'
    with pytest.raises(SettingError, match="give the page a name such as"):
        report(runs_of([40]), tmp_path / "report.json")
    report(runs_of([40]), tmp_path / "other.html")
    assert written(report(runs_of([50]), tmp_path / "other.html"))["sets"]["psrs"]["steps"] == [50]


def test_what_json_lacks_is_null_or_a_text():
    found = plain({1: (np.int64(2), float("inf")), "a": np.array([0.5, np.nan]), "b": {3}, "c": "x\udcff"})
    assert found == {"1": [2, None], "a": [0.5, None], "b": "{3}", "c": "x?"}
    table = plain(Table("t", (Column("a", group="g"),), (("1",),), ((1.0,),), ("note",)))
    assert table["columns"] == [{"name": "a", "group": "g", "numeric": True}]
    assert (table["rows"], table["values"], table["notes"]) == ([["1"]], [[1.0]], ["note"])
