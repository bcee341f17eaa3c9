import pytest

from understudy.errors import LogError
from understudy.logs import read

LINES = """1:0.5:0.25 |user name=Tom age:31 |page home:2 new
3:-1:0.5 'tag7 |user name=Anna age:2.5 |page new

2:0:0.25 tag|user age:4 name=Tom
"""
BLOCKS = """shared |user name=Tom
| id=a price:3
0:-1.5:0.7 | id=b price:4

shared |user name=Anna
0:2:0.3 | id=a price:3
| id=b price:4
"""


def written(tmp_path, text, name="log.vw"):
    (tmp_path / name).write_text(text)
    return tmp_path / name


def test_a_line_is_a_decision(tmp_path):
    log = read(written(tmp_path, LINES))
    assert log.spec.actions == ("1", "2", "3")
    assert log.action.tolist() == [0, 2, 1]
    assert log.reward.tolist() == [-0.5, 1.0, 0.0]
    assert log.propensity.tolist() == [0.25, 0.5, 0.25]
    assert log.spec.features == ("user.name", "user.age", "page.home", "page.new")
    assert log.observation[:, 1:].tolist() == [[31, 2, 1], [2.5, 0, 1], [4, 0, 0]]
    assert log.spec.decode(log.observation)["user.name"].to_pylist() == ["Tom", "Anna", "Tom"]
    assert log.n_episodes == 3
    assert log.terminated.all()


def test_lines_up_to_an_empty_one_are_a_decision(tmp_path):
    log = read(written(tmp_path, BLOCKS))
    assert log.spec.actions == ("a", "b")
    assert log.action.tolist() == [1, 0]
    assert log.reward.tolist() == [1.5, -2.0]
    assert log.propensity.tolist() == [0.7, 0.3]
    assert log.spec.action_features.column("price") == (3, 4)
    assert log.spec.features == ("user.name",)


def test_blocks_need_no_shared_line(tmp_path):
    log = read(written(tmp_path, "0:-1:0.5 | id=a\n| id=b\n\n| id=a\n0:0:0.5 | id=b\n"))
    assert log.action.tolist() == [0, 1]
    assert log.observation.tolist() == [0, 0]


def test_further_actions_of_a_line_count(tmp_path):
    assert read(written(tmp_path, "1 2:-1:0.5 5 | x\n")).spec.n_actions == 5


def test_features_have_weights_of_namespaces_and_add_up(tmp_path):
    log = read(written(tmp_path, "1:0:0.5 |a:2 x:3 y y |b :0.5 :4\n1:0:1 |a:2 x:1\n"))
    assert log.spec.features == ("a.x", "a.y", "b.0", "b.1")
    assert log.observation.tolist() == [[6, 4, 0.5, 4], [2, 0, 0, 0]]


@pytest.mark.parametrize("name", ["log.txt", "log", "log.dat"])
@pytest.mark.parametrize("text", [LINES, BLOCKS])
def test_it_is_known_by_how_it_begins(tmp_path, name, text):
    assert read(written(tmp_path, text, name)).fingerprint == read(written(tmp_path, text)).fingerprint


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1:0:0.5 | x\n1:0:0.5\n", r"line 2 has no \|"),
        ("1:0:0.5 | x\n2 | x\n", "the decision in line 2 has 0 labels, and needs one action:cost:probability"),
        ("1:0:0.5 2:0:0.5 | x\n", "the decision in line 1 has 2 labels"),
        ("1:0:0.5 | x\n1:zero:0.5 | x\n", "line 2 has 'zero' where a number must be"),
        ("1:0:0.5 | x\n1:0 | x\n", "line 2 has the label 1:0, which is not"),
        ("1:0:0.5 | x\n1:0:0.5 | x:big\n", "line 2 has 'big' where a number must be"),
        ("0:0:0.5 | x\n1:0:0.5 | x\n", "line 1 chose action 0, and they are numbered from 1 up"),
        ("shared | x\n| a\n| b\n", "the decision in line 1 has 0 labels up to the next empty line"),
        ("shared | x\n0:1:0.5 | a\n0:1:0.5 | b\n", "the decision in line 1 has 2 labels"),
        ("shared | x\n0:1:0.5 | a\n\nshared | x\n0:1:0.5 | a\n| b\n", "line 4 offers 2 actions"),
        ("ca 1.5:0.5:0.2 | x\n", "line 1 is about actions that are numbers on a line .*bin them"),
        ("ccb shared | x\n", "line 1 is about several slots.*a line for each slot"),
        ("slates shared 0.5 | x\n", "line 1 is about several slots"),
        ("\n\n", "there is no decision"),
    ],
)
def test_what_is_wrong_is_named_by_its_line(tmp_path, text, message):
    with pytest.raises(LogError, match=message) as refused:
        read(written(tmp_path, text))
    assert "log.vw" in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("1:0:0.5 | a\n| b\n2:1:0.5 | c\n", 2),
        ("| a\n1:0:0.5 | b\n2:1:0.5 | c\n", 1),
        ("1:0:0.5 | a\n2:1:0.5 | b\n| c\n", 3),
    ],
)
def test_a_line_that_is_only_to_be_predicted_is_not_an_action_of_its_neighbors(tmp_path, text, line):
    with pytest.raises(LogError, match=f"line {line} has no label, among lines that are a decision each; leave out"):
        read(written(tmp_path, text))
