import json
import re
from base64 import b64encode
from hashlib import sha256
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from understudy.errors import ContractError, ResultsError, SettingError
from understudy.logs import Audit, Finding, Log
from understudy.logs.findings import AuditTest
from understudy.reporting import report
from understudy.reporting.measurements import measure
from understudy.reporting.page import write_page
from understudy.runs import Runs
from understudy.trust import Beyond, Forecast, Selfcheck
from understudy.trust.evidence import Evidence
from understudy.trust.self_tests import SelfTest

HOSTILE = "<script>alert(1)</script> $x^$ \"'"


class Tags(HTMLParser):
    """Collects the tags of a page, and checks that they close in order."""

    VOID = ("meta", "br", "img", "use", "path")

    def __init__(self):
        super().__init__()
        self.seen, self.open = [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop() == tag


def tags(text):
    parser = Tags()
    parser.feed(text)
    parser.close()
    assert not parser.open
    return parser.seen


def page(tmp_path, runs, **options):
    """The page without its scripts and their data, which `whole_page` has."""
    text = whole_page(tmp_path, runs, **options)
    return re.sub(r"<script\b[^>]*>.*?</script>\n", "", text, flags=re.DOTALL)


def whole_page(tmp_path, runs, **options):
    return report(runs, tmp_path / "report.html", **options).read_text(encoding="utf-8")


def test_a_page_has_its_parts_in_order(tmp_path, runs_of, real_of):
    text = page(tmp_path, {"psrs": runs_of([40] * 3), "real": real_of([90] * 3)}, title="My rehearsal")
    order = ["My rehearsal</h1>", "RMSE of", "How it learned", "How long the log could answer</h2>"]
    order += ["How close the simulated", "What ran out"]
    order += ["Every run by itself</h2>", "What was run, and how", "Made by understudy"]
    places = [text.index(part) for part in order]
    assert places == sorted(places)


def test_a_page_begins_with_how_far_to_believe_it(tmp_path, halved_of):
    tests = (SelfTest("shapes", f"looked at {HOSTILE}", 1.0, 0.5, HOSTILE, 0.05),)
    text = page(
        tmp_path, {HOSTILE: halved_of([100] * 8, [60] * 4)}, margin=0.3,
        selfcheck=Selfcheck(tests, 0.05, 200, 20, tested_states=True),
        forecasts={HOSTILE: Forecast(95, (80, 110), 0.9, 5, {HOSTILE: 1.0}, 19, 0)},
    )  # fmt: skip
    tags(text)
    assert "<script" not in text
    assert text.index("Believable up to step 60") < text.index('class="lead"') < text.index("How it learned")
    for part in (
        "How long it was expected",
        "Does the log agree",
        "intervals of 95%",
        "variance was extrapolated",
    ):
        assert part in text
    assert "The diamond marks the trusted horizon" in text
    assert "leave\nthe luck of the log out" not in text


def test_bands_without_halves_are_said_to_leave_the_luck_of_the_log_out(tmp_path, runs_of, halved_of, real_of):
    alone = page(tmp_path, {"psrs": runs_of([40] * 3)})
    assert "How far to believe this was not tested" in alone
    caption = alone[alone.index("Mean of “g” over runs") :]
    assert "Bands are 1.96 standard errors over runs, which leave\nthe luck of the log out" in caption
    both = page(tmp_path, {"psrs": halved_of([100] * 8, [60] * 4), "bare": runs_of([40] * 3)})
    assert "Bands of “psrs” are intervals of 95%" in both
    assert "Other bands are 1.96 standard errors over runs, which leave" in both
    real = page(tmp_path, {"real": real_of([40] * 3)})
    assert 'class="belief' not in real
    assert (
        "leave\nthe luck of the log out"
        not in real[real.index("Mean of “g”") : real.index("How long the log could answer")]
    )


def test_several_self_checks_are_told_by_their_names(tmp_path, halved_of):
    one = Selfcheck((), 0.05, 200, 20, tested_states=False)
    text = page(tmp_path, {"a": halved_of([100] * 8, [60] * 4)}, selfcheck={"x/<b>": one, "other": one})
    assert "Self-check of x/&lt;b&gt;: could not be told" in text
    assert text.count("Does the log agree") == 1


def test_a_page_is_one_file_that_loads_nothing(tmp_path, runs_of, real_of):
    text = whole_page(tmp_path, {"psrs": runs_of([40] * 3), "real": real_of([90] * 3)})
    seen = tags(text)
    assert not {"link", "iframe", "img", "object"} & {tag for tag, _ in seen}
    for _, attributes in seen:
        assert not any(name.startswith("on") or name == "src" for name in attributes)
        assert attributes.get("xlink:href", "#").startswith("#")
    assert not re.search(r"url\((?!#)|@import", text)
    assert [attributes for tag, attributes in seen if tag == "script"] == [
        {"type": "application/json", "id": "chart-data"}, {}, {}
    ]  # fmt: skip
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', text)
    assert unescape(policy).startswith("default-src 'none'; script-src 'sha256-")
    for script in re.findall(r"<script>(.*?)</script>", text, flags=re.DOTALL):  # no other script runs
        assert b64encode(sha256(script.encode()).digest()).decode() in unescape(policy)


def test_the_data_of_charts_is_in_the_page_and_in_the_file_beside_it(tmp_path, runs_of):
    text = whole_page(tmp_path, {HOSTILE: runs_of([40] * 3, probe=HOSTILE)})
    (data,) = re.findall(r'id="chart-data">(.*?)</script>', text, flags=re.DOTALL)
    charts = json.loads(data)
    assert charts[0]["title"] == HOSTILE
    assert not {"<", ">", "&"} & set(data)
    assert json.loads((tmp_path / "report.json").read_text())["charts"] == charts
    for chart in charts:
        assert f'<figure id="{chart["id"]}">' in text


def test_a_section_whose_part_was_not_run_is_absent(tmp_path, runs_of, halved_of):
    text = page(tmp_path, runs_of([40] * 3))
    for part in ("Is anything wrong with the log?", "Does the log agree", "How long it was expected",
                 "How close the simulated", "Which observations were treated", "Which learner earns more",
                 "How far to believe what the log", "Against the logging policy"):  # fmt: skip
        assert f"<h2>{part}" not in text
        assert f"<h3>{part}" not in text


def test_the_command_versions_and_the_fingerprint_of_the_log_are_told(tmp_path, runs_of):
    measured = measure({"psrs": runs_of([40] * 3)})
    text = write_page(measured, tmp_path / "report.html", command="understudy simulate 'a b.csv'").read_text()
    there = text[text.index("Where this comes from") :]
    assert there.index("understudy simulate &#x27;a b.csv&#x27;") < there.index("fingerprint of the log")
    assert there.index(">abc<") < there.index("numpy")


def test_runs_that_must_not_be_believed_have_no_believable_part_in_figures(tmp_path, halved_of):
    sets = {"psrs": halved_of([100] * 8, [60] * 4, log_return=0.5, log_return_error=0.1)}
    wrong = Audit((Finding("doubt", "a-rule", (1,), 1, "propensities are wrong"),), 9, 1, 2)
    for audit, trusted in ((wrong, {0}), (None, {60, 12})):
        report(sets, tmp_path / "report.html", audit=audit, margin=0.3)
        charts = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))["charts"]
        assert {one["trusted"] for chart in charts for one in chart["sets"]} == trusted
        told = (tmp_path / "report.html").read_text(encoding="utf-8")
        assert told.count("All of it is gray, since at no step was this shown to be believable") == 2 * (trusted == {0})


def test_what_was_tested_of_the_log_and_what_was_not_asked_folds_out(tmp_path, halved_of):
    tests = (
        AuditTest("copies", "Are <rows> copied?", 3, 0.5),
        AuditTest("drift", "Does it drift?", 0, None, "too short"),
    )
    sets = {"psrs": halved_of([100] * 8, [60] * 4)}
    text = page(tmp_path, sets, audit=Audit((), 9, 1, 2, tests))
    assert "none speaks against this log; 1 not asked" in text
    folded = text[text.index("<summary>What was tested, and what was not asked</summary>") :]
    assert "Are &lt;rows&gt; copied?" in folded
    assert "Does it drift? Not asked: too short." in folded
    assert "<summary>What was tested" not in page(tmp_path, sets, audit=Audit((), 9, 1, 2))


def test_words_are_explained_where_they_are_used(tmp_path, halved_of):
    text = page(tmp_path, {"psrs": halved_of([100] * 8, [60] * 4)})
    assert text.count("<dt>Luck of the log</dt>") == 1
    assert text.index("<dt>Luck of the log</dt>") < text.index("<dt>Return</dt>") < text.index("How it learned")
    assert "<dt>Fidelity</dt>" not in text


def test_the_same_runs_give_the_same_page(tmp_path, runs_of):
    assert whole_page(tmp_path, runs_of([40] * 3)) == whole_page(tmp_path, runs_of([40] * 3))


def test_whatever_users_wrote_is_escaped(tmp_path, runs_of, real_of):
    finding = Finding("error", HOSTILE, (1,), 1, HOSTILE)
    about = {"learner": {"class": HOSTILE, HOSTILE: HOSTILE}, "simulator": {"simulator": HOSTILE}}
    sets = {HOSTILE: runs_of([40] * 3, probe=HOSTILE, **about), "real": real_of([90] * 3)}
    text = page(tmp_path, sets, title=HOSTILE, audit=Audit((finding,), 10, 1, 2))
    assert "script" not in {tag for tag, _ in tags(text)}
    assert text.count("&lt;script&gt;alert(1)&lt;/script&gt; $x^$") > 10


def test_a_name_that_utf8_cannot_hold_is_no_obstacle(tmp_path, runs_of):
    assert "psrs ?" in page(tmp_path, {"psrs \udcff": runs_of([40] * 3)})


def test_one_set_alone_has_no_fidelity(tmp_path, runs_of):
    text = page(tmp_path, runs_of([40] * 3))
    assert "<summary>psrs</summary>" in text
    assert "How close the simulated" not in text


def test_without_probes_and_finished_episodes_there_are_tables_only(tmp_path, runs_of):
    text = page(tmp_path, {"psrs": runs_of([4] * 3, probe=None), "b": runs_of([3], probe=None)})
    assert "<svg" not in text
    assert "How long the log could answer</h2>" in text


def test_what_episodes_earned_is_drawn_without_a_probe(tmp_path, runs_of):
    text = page(tmp_path, {"psrs": runs_of([40] * 3, probe=None, log_return=0.5)})
    assert "What an episode earned, beside" in text
    assert "what an episode of the log earned" in text
    assert "what an episode of the log earned" not in page(tmp_path, {"psrs": runs_of([40] * 3)})


def test_a_probe_read_too_seldom_is_said_to_be_and_how_often_would_do(tmp_path, runs_of):
    text = page(tmp_path, {"psrs": runs_of([8] * 3)})
    assert "every run stopped before its first reading" in text
    assert "(--every) of 1 or less" in text


def test_sets_that_would_get_one_name_are_refused(tmp_path, runs_of):
    with pytest.raises(SettingError, match="have one name"):
        page(tmp_path, {1: runs_of([40]), "1": runs_of([50])})


def test_settings_that_differ_between_sets_are_listed_side_by_side(tmp_path, runs_of):
    learner = {"class": "QLearning", "gamma": 0.5}
    sets = {"a": runs_of([40] * 3, learner=learner), "b": runs_of([40] * 3, learner={**learner, "gamma": 0.125})}
    text = page(tmp_path, sets)
    there = text[text.index("What differs between the sets") : text.index("</table>", text.index("What differs"))]
    assert "0.125" in there
    assert "QLearning" not in there
    assert "What differs between the sets" not in page(tmp_path, {"a": runs_of([40] * 3)})


def test_several_learners_are_compared_before_anything_else(tmp_path, runs_of):
    learner = {"class": "QLearning", "gamma": 0.5}
    sets = {"a": runs_of([40] * 3, learner=learner), "b": runs_of([90] * 3, learner={**learner, "gamma": 0.1})}
    text = page(tmp_path, sets)
    lead = text[text.index('class="lead">') :]
    assert (
        lead.index("Which learner earns more cannot be told")
        < lead.index("rehearsed on")
        < lead.index("lasted longest")
    )


@pytest.mark.parametrize("lengths", [[0, 0], [5, 5], [0], [5, 30], [0, 30]])
def test_runs_that_stopped_early_are_reported_like_others(tmp_path, runs_of, real_of, lengths):
    text = page(tmp_path, {"psrs": runs_of(lengths), "real": real_of([90] * 3)})
    assert "could not be measured" in text
    assert "there is no reading up to the horizon that every run has" in text


def test_where_no_run_was_read_it_is_said(tmp_path, runs_of):
    assert "every run stopped before its first reading" in page(tmp_path, runs_of([5, 0]))


def test_sets_with_different_probes_have_figures_of_their_own(tmp_path, runs_of, real_of):
    sets = {"a": runs_of([40] * 3, probe="g"), "b": runs_of([40] * 3, probe="h"), "real": real_of([90] * 3)}
    text = page(tmp_path, sets)
    assert "Mean curves of g for a, real" in text
    assert "Mean curves of h for b" in text
    assert "“b”: g was not probed." in text


def test_vectors_are_drawn_as_bars_and_what_is_neither_is_said_not_to_be(tmp_path, run_of):
    curves = {"visits": lambda t: np.ones(4) / 4, "table": lambda t: np.ones((2, 2))}
    text = page(tmp_path, Runs((run_of(30, curves), run_of(5, curves))))
    assert "Final readings of visits" in text
    assert "“table” is not drawn" in text


def test_findings_are_shown_with_their_severity_and_none_as_nothing_found(tmp_path, runs_of):
    finding = Finding("warning", "unfinished", (3,), 1, "an episode ends early")
    assert 'class="severity warning"' in page(tmp_path, runs_of([40]), audit=Audit((finding,), 20, 2, 4))
    text = page(tmp_path, runs_of([40]), audit=Audit((), 20, 2, 4))
    assert "20 rows, 2 episodes, 4 actions: nothing found." in text


def test_a_log_without_an_audit_is_audited(tmp_path, runs_of):
    log = Log.from_columns(observation=[0, 1, 0], action=[0, 1, 0], reward=[0, 0, 1], terminated=[False, False, True])
    assert "no-propensity" in page(tmp_path, runs_of([40]), log=log)


def test_the_reference_can_be_any_set(tmp_path, runs_of):
    text = page(tmp_path, {"a": runs_of([40] * 3), "b": runs_of([50] * 3)}, reference="b")
    assert "from that of “b”" in text


def test_a_reference_that_is_not_there_is_refused(tmp_path, runs_of):
    with pytest.raises(SettingError, match="'truth' to measure against; there is a"):
        report({"a": runs_of([40])}, tmp_path / "report.html", reference="truth")


@pytest.mark.parametrize("runs", [{}, Runs(()), {"begun": Runs(())}])
def test_nothing_finished_is_nothing_to_report(tmp_path, runs):
    with pytest.raises(SettingError, match="no finished run"):
        report(runs, tmp_path / "report.html")
    assert not list(tmp_path.iterdir())


def test_what_are_no_runs_is_refused_by_name(tmp_path):
    with pytest.raises(ContractError, match="'a' is a SimpleNamespace"):
        report({"a": SimpleNamespace()}, tmp_path / "report.html")


def test_a_path_that_cannot_be_written_is_a_clear_error(tmp_path, runs_of):
    with pytest.raises(SettingError, match="is a folder; give the name of a file"):
        report(runs_of([40]), tmp_path)
    with pytest.raises(ResultsError, match="cannot write"):
        report(runs_of([40]), tmp_path / "missing" / "report.html")
    assert not list(tmp_path.iterdir())


def test_readings_that_are_no_numbers_are_told_from_none(tmp_path, run_of):
    nothing = {"g": lambda t: float("nan")}
    text = page(tmp_path, {"psrs": Runs((run_of(40, nothing), run_of(40, nothing)))})
    assert "fewer than half of the runs have a reading that is a number" in text
    assert "Read it more often" not in text
    few = Runs((run_of(40, {"g": float}), *(run_of(5, {"g": float}) for _ in range(5))))
    text = page(tmp_path, {"psrs": few})
    assert "fewer than half of the runs have a reading that is a number" in text
    assert "Mean of “g”" not in text
    assert "no run was served a single step" in page(tmp_path, {"psrs": Runs((run_of(0, {"g": float}),))})


@pytest.mark.parametrize("given", ["out/a", Path("out/a"), ["out/a"], None])
def test_something_else_than_runs_is_refused_with_how_a_folder_is_read(given, tmp_path):
    with pytest.raises(ContractError, match=r"runs is a .*; give runs, or .* us\.load\(folder\) reads a folder"):
        report(given, tmp_path / "report.html")


def test_a_page_about_runs_on_a_ladder_has_a_strip_and_says_what_served_them(tmp_path, runs_of, on_ladder):
    ladder = on_ladder(runs_of([100] * 10), {40: 1, 70: 2}, cuts=[60])
    text = page(tmp_path, {HOSTILE: ladder})
    seen = tags(text)
    assert "script" not in {tag for tag, _ in seen}
    sentence = "Exact up to step 40; beyond it 50% of steps came from states alike, 50% were served before, 10 of 130"
    assert f"<p>{sentence}" in text
    labels = [attributes.get("aria-label", "") for _, attributes in seen]
    wide = next(label for label in labels if "Mean curves" in label)
    assert wide.endswith("8%).")
    assert sentence in wide
    parts = ["exact to step 40", "steps served by", "rows of states alike", "rows served before", "episodes cut, %"]
    for part in parts:
        assert text.count(f">{part}") == 2  # in the wide figure, and in the narrow one
    assert "actions never tried in the state" not in text
    assert "The thin vertical line marks the exact\nhorizon" in text
    assert "which share of the episodes that ended there was cut" in text
    assert "<dt>Exact up to</dt>" in text
    assert "exact up to</th>" in text


def test_a_page_about_runs_without_a_ladder_has_no_word_of_it(tmp_path, runs_of, halved_of):
    text = page(tmp_path, {"psrs": halved_of([100] * 8, [60] * 4), "qbe": runs_of([60] * 3)}).lower()
    for word in ("exact up to", "exact to step", "steps served by", "rung", "episodes cut", "alike,"):
        assert word not in text


def test_what_was_found_of_a_ladder_is_where_the_diamond_is(tmp_path, halved_of, on_ladder):
    ladder = on_ladder(halved_of([100] * 8, [60] * 4), {40: 1})
    found = Beyond(50, 40, 100, 0.3, "g", (Evidence(HOSTILE, 50, HOSTILE),), ladder, ("like",))
    text = page(tmp_path, {"qbe": ladder}, margin=0.3, beyond={"qbe": found})
    assert "script" not in {tag for tag, _ in tags(text)}
    assert "<h2>Believe &#39;g&#39; up to step 50, 1.25 times the 40 steps that are exact" in text
    assert "the trusted horizon, up to which all evidence agrees" in text
    section = text[text.index("<h2>How far to believe what the log") :]
    assert section.index("Believe &#39;g&#39; up to step 50") < section.index("<td")
    assert HOSTILE not in text
    assert text.count("&lt;script&gt;") >= 2  # in the table: what it is, and why it ends there
    without = page(tmp_path, {"qbe": ladder}, margin=0.3)
    assert "<h2>Exact up to step 40; halves of the log agree up to step 60" in without
    assert "the trusted horizon, up to which halves of the log give the same answer" in without
