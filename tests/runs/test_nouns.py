from understudy.runs.nouns import noun_of


def test_episodes_are_decisions_where_every_log_has_one_row_in_each(runs_of, real_of):
    single, longer = runs_of([40] * 3, log_rows=20), runs_of([40] * 3)
    assert [noun_of(single), noun_of(single, longer), noun_of(longer), noun_of(real_of([40]))] == [
        "decision", "episode", "episode", "episode",
    ]  # fmt: skip
