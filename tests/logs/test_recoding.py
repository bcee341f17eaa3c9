import pytest

from understudy.errors import LogError, SettingError
from understudy.logs import concatenate, read, write
from understudy.logs.naming import observation_words

FIRST = {"page": ["home", "cart", "pay"], "day": ["2024-01-02", "2024-01-01", "2024-01-03"], "arm": ["b", "a", "c"]}
SECOND = {"page": ["pay", "home"], "day": ["2023-12-31", "2024-01-05"], "arm": ["c", "b"]}


def bandit(columns, **options):
    columns = {**columns, "paid": [1.0] * len(columns["page"])}
    return read(columns, action="arm", reward="paid", ends="every-row", **options)


def test_a_second_log_is_coded_like_the_first(tmp_path):
    first = bandit(FIRST, observation=["page", "day"])
    write(first, tmp_path / "first.parquet")
    for like in (first, first.spec, tmp_path / "first.parquet"):
        second = bandit(SECOND, like=like)
        assert second.observation.tolist() == [[2, -1], [1, 4]]
        assert second.action.tolist() == [2, 1]
        assert second.spec == first.spec
    assert len(concatenate([first, second])) == 5
    with pytest.raises(LogError, match=r"coded in one way in log 0 .* read that one with like=, log 0"):
        concatenate(
            [first, bandit({**SECOND, "arm": ["a", "c"]}, observation=["page", "day"], actions=["a", "b", "c"])]
        )


def test_like_takes_numbers_for_labels_from_a_csv(tmp_path):
    first = bandit({**FIRST, "page": ["10", "20", "30"]}, observation=["page", "day"], categories="page")
    (tmp_path / "b.csv").write_text("page,day,arm,paid\n30,2024-01-01,a,1\n")
    second = read(tmp_path / "b.csv", like=first, action="arm", reward="paid", ends="every-row")
    assert second.observation.tolist() == [[2, 0]]


def test_categories_that_the_first_log_does_not_have():
    first = bandit(FIRST, observation="page")
    new = {**SECOND, "page": ["new", "home"]}
    with pytest.raises(LogError, match=r"page is 'new' in row 0; .* give unseen=.other."):
        bandit(new, like=first)
    second = bandit(new, like=first, unseen="other")
    assert second.observation.tolist() == [3, 1]
    assert second.spec.n_observations == 4
    assert observation_words(second.spec, second.observation[0]) == "page=(other)"
    kept = bandit(FIRST, observation="page", unseen="other")
    assert kept.spec.n_observations == 4
    assert bandit(new, like=kept).observation.tolist() == kept.spec.encode(["new", "home"]).tolist() == [3, 1]


def test_one_hot_is_another_form_of_the_same_log(tmp_path):
    codes = bandit(FIRST, observation=["page", "day"])
    one_hot = bandit(FIRST, observation=["page", "day"], coding="one-hot")
    assert one_hot.observation.tolist() == codes.spec.one_hot(codes.observation).tolist()
    assert one_hot.spec.features == ("page=cart", "page=home", "page=pay", "day")
    assert one_hot.spec.observation_shape == (4,)
    assert observation_words(one_hot.spec, one_hot.observation[0]) == "page=home, day=2024-01-02"
    write(one_hot, tmp_path / "log.parquet")
    assert read(tmp_path / "log.parquet").spec == one_hot.spec
    back = read(tmp_path / "log.parquet", coding="codes")
    assert back.observation.tolist() == codes.observation.tolist()
    assert back.spec == codes.spec
    assert bandit(SECOND, like=one_hot).observation.tolist() == [[0, 0, 1, -1], [0, 1, 0, 4]]
    assert bandit({**FIRST, "page": [1, 2, 3]}, observation="page", coding="one-hot").observation.tolist() == [1, 2, 3]


def test_a_file_of_ours_can_be_read_like_another_log(tmp_path):
    first = bandit(FIRST, observation=["page", "day"])
    write(bandit(SECOND, observation=["page", "day"], actions=["a", "b", "c"]), tmp_path / "second.parquet")
    again = read(tmp_path / "second.parquet", like=first)
    assert again.observation.tolist() == [[2, -1], [1, 4]]
    assert again.spec == first.spec


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"like": 3}, "like= is a int; give a log, or its spec"),
        ({"unseen": "drop"}, "unseen='drop' is unknown; give one of error, other"),
        ({"coding": "ohe"}, "coding='ohe' is unknown; give one of codes, one-hot"),
        ({"like": bandit(FIRST, observation="page"), "categories": "page"}, "leave categories= out"),
    ],
)
def test_options_that_cannot_be_followed_are_refused(options, message):
    with pytest.raises(SettingError, match=message):
        bandit(FIRST, observation="page", **options)


def test_like_needs_the_same_columns():
    first = bandit(FIRST, observation=["page", "day"])
    with pytest.raises(
        LogError, match="observation has 1 column, and the log it is to be coded like has 2; give page, day"
    ):
        bandit(SECOND, observation="page", like=first)


def test_labels_that_spell_numbers_stay_labels_in_a_csv(tmp_path):
    pages = {"page": ["007", "7.0", "8"], "next_page": ["7.0", "8", "9.0"]}
    names = {"observation": ["page", "day"], "next_observation": ["next_page", "day"]}
    for texts in (pages, {name: [text.lstrip("0") for text in column] for name, column in pages.items()}):
        columns = {**FIRST, **texts, "paid": [1.0] * 3}
        (tmp_path / "a.csv").write_text(
            "\n".join([",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))])
        )
        options = {"action": "arm", "reward": "paid", "ends": "every-row"}
        for source in (columns, tmp_path / "a.csv"):
            first = read(source, **names, **options, categories="page")
            assert set(first.spec.coding.columns[0].labels) == {*texts["page"], *texts["next_page"]}
            assert (
                read(tmp_path / "a.csv", like=first, next_observation=names["next_observation"], **options).spec
                == first.spec
            )
