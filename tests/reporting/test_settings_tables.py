from understudy.reporting.settings_tables import differing_settings, origin_table, settings_table, versions
from understudy.tables import NONE


def test_settings_in_which_sets_differ_have_a_column_for_each_set(runs_of):
    sets = {"a": runs_of([40], learner={"class": "Q", "gamma": 0.5}), "b": runs_of([40], learner={"class": "Q"})}
    assert differing_settings(sets).rows == (("learner · gamma", "0.5", NONE),)
    assert differing_settings({"a": sets["a"]}) is None


def test_seeds_are_among_the_settings(runs_of):
    rows = dict(settings_table(runs_of([40] * 5)).rows)
    assert rows["runs"] == "5"
    assert rows["seeds of runs"] == "0, 1, 2, ... (5 in all)"
    assert rows["learner · gamma"] == "0.5"


def test_command_fingerprints_and_versions_tell_where_numbers_come_from(runs_of):
    rows = dict(origin_table({"a": runs_of([40]), "b": runs_of([40], log="def")}, "understudy demo").rows)
    assert rows["command"] == "understudy demo"
    assert rows["fingerprint of the log of a"] == "abc"
    assert rows["fingerprint of the log of b"] == "def"
    assert rows["understudy"] == versions()["understudy"]
    assert "command" not in dict(origin_table({"a": runs_of([40])}, None).rows)


def test_what_real_runs_lack_is_no_difference_and_digests_are_shortened(runs_of, real_of):
    one, other = "1a5c0ede673a113eae418e3cc143e5e4", "618fdbde9648ef4bd499fcecd4563738"
    sets = {"a": runs_of([40], log=one), "b": runs_of([40], log=one), "real": real_of([40])}
    assert "log" not in dict.fromkeys(row[0] for row in differing_settings(sets).rows)
    rows = {row[0]: row[1:] for row in differing_settings(sets | {"b": runs_of([40], log=other)}).rows}
    assert rows["log"] == ("1a5c0ede…", "618fdbde…", NONE)


def test_what_the_log_earned_along_its_rows_is_left_to_the_json_file(runs_of):
    table = settings_table(runs_of([40]))
    lines = dict(table.rows)
    assert lines["log_returns · error"] == "0.01"
    assert not any(name.endswith(("rows", "earned")) for name in lines if name.startswith("log_returns"))
