import pytest

from tests.logs.rules.columns import rules_found
from understudy.errors import LogError
from understudy.logs import Log, check


def test_a_clean_log_has_notes_at_most(walk):
    for seed in range(200):
        found = {rule for _, rule in rules_found(walk(seed=seed))}
        assert found <= {"action-support"}  # some of these loggers do hardly take an action in some place


def test_simulators_are_refused_what_check_calls_an_error(clean):
    clean["truncated"][0] = True
    log = Log.from_columns(**clean)
    with pytest.raises(LogError) as refused:
        log.require_no_errors()
    assert str(refused.value) == check(log).findings[0].sentence
    assert refused.value.rule == "end-inside"


def test_warnings_do_not_make_a_log_unsound(clean):
    del clean["propensity"]
    log = Log.from_columns(**{**clean, "truncated": clean["truncated"] | clean["terminated"]})
    assert check(log).ok
    log.require_no_errors()
