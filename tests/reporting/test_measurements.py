from dataclasses import replace

import numpy as np
import pytest

from understudy.errors import SettingError
from understudy.evaluation import Fidelity, earnings, efficiency, fidelity
from understudy.reporting import measurements
from understudy.reporting.measurements import compare, measure, reference_of, shared_probes
from understudy.reporting.page import write_page
from understudy.reporting.terminal import brief_table
from understudy.runs import Runs


def test_what_is_measured_is_what_the_public_functions_say(runs_of, real_of):
    sets = {"psrs": runs_of([40] * 3), "real": real_of([100] * 3), "begun": Runs(())}
    found = measure(sets)
    assert (found.reference, found.headline_probe, list(found.finished)) == ("real", "g", ["psrs", "real"])
    assert found.efficiency == {name: efficiency(sets[name]) for name in ("psrs", "real")}
    assert found.earnings == earnings(found.finished)
    assert found.fidelity["g"].at_own["psrs"] == fidelity(sets["psrs"], sets["real"], "g")
    assert found.fidelity["g"].at_own["begun"] == "there is no finished run"


def test_page_and_terminal_compare_curves_once(runs_of, real_of, tmp_path, monkeypatch):
    calls = []

    def counted(*arguments, **options):
        calls.append(arguments)
        return fidelity(*arguments, **options)

    monkeypatch.setattr(measurements, "fidelity", counted)
    found = measure({"psrs": runs_of([40] * 3), "real": real_of([100] * 3)})
    assert len(calls) == 2  # up to its own horizon and up to the shared one
    brief_table(found)
    write_page(found, tmp_path / "report.html")
    assert len(calls) == 2


def test_the_reference_is_the_first_real_set_or_the_one_named(runs_of, real_of):
    sets = {"a": runs_of([40] * 3), "b": runs_of([40] * 3), "real": real_of([40] * 3)}
    assert reference_of(sets) == "real"
    assert reference_of({"a": sets["a"]}) is None
    assert measure(sets, reference="b").reference == "b"
    with pytest.raises(SettingError, match="no set of runs 'c' to measure against; there is a, b, real"):
        measure(sets, reference="c")


def test_probes_are_shared_with_any_other_set(runs_of, real_of):
    sets = {"a": runs_of([40]), "h": runs_of([40], probe="h"), "real": real_of([40])}
    assert shared_probes(sets, "real") == ["g"]
    assert shared_probes({"h": sets["h"], "real": sets["real"]}, "real") == []
    assert shared_probes(sets, None) == []


def test_the_shared_horizon_is_the_smallest_unless_one_is_given(runs_of, real_of):
    sets, real = {"short": runs_of([40] * 4), "long": runs_of([80] * 4)}, real_of([100] * 4)
    found = compare(sets, real, "g")
    assert found.shared_horizon == 40
    assert [one.horizon for one in found.at_shared.values()] == [40, 40]
    assert [one.horizon for one in found.at_own.values()] == [40, 80]
    assert compare(sets, real, "g", horizon=20).at_shared["long"].horizon == 20


def test_a_reason_stands_where_there_is_no_fidelity(runs_of, real_of):
    sets = {"ok": runs_of([40] * 3), "early": runs_of([5] * 3), "other": runs_of([40] * 3, probe="h"), "none": Runs(())}
    found = compare(sets, real_of([100] * 3), "g").at_shared
    assert isinstance(found["ok"], Fidelity)
    assert found["early"] == "there is no reading up to the horizon that every run has"
    assert found["other"] == "g was not probed"
    assert found["none"] == "there is no finished run"
    assert compare({"none": Runs(())}, real_of([100] * 3), "g").shared_horizon is None


def test_unfinished_halves_are_the_reason_where_they_are(halved_of, real_of):
    whole = halved_of([100] * 4, [60] * 4)
    begun = replace(whole, halves=(whole.halves[0][:2], *whole.halves[1:]))
    found = compare({"psrs": begun}, real_of([100] * 4), "g").at_shared
    assert found["psrs"].startswith("1 of 10 halves of the log are unfinished; call understudy simulate again")


def test_vectors_of_another_length_are_not_compared(run_of):
    sets = [Runs((run_of(30, {"visits": lambda t, n=n: np.ones(n) / n}),) * 2) for n in (3, 4)]
    assert "shape" in compare({"psrs": sets[0]}, sets[1], "visits").at_shared["psrs"]
