def test_states_forget_the_counter_and_observations_do_not(quick):
    _, item = quick("protocol")
    accurate, unfaithful, _ = item.claims
    assert accurate.holds is True
    assert unfaithful.holds is False  # the appendix says it of the wrong one
    table = next(table.columns for table in item.tables if table.name == "fidelity-early")
    verdict = dict(zip(table["set"], table["verdict"], strict=True))
    assert verdict["sim1, a log each"] == "equivalent"
    assert verdict["sim2, a log each"] == "different"  # by the same test
