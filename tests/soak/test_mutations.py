import numpy as np
import pytest

from soak.mutations import BYTE_DAMAGES, TEXT_DAMAGES, damaged_bytes, damaged_json, damaged_text, json_text

TEXT = b"observation,action\nhome,1\ncart,2\n" * 5


@pytest.mark.parametrize("damage", [*BYTE_DAMAGES.values(), *TEXT_DAMAGES.values()])
def test_a_damage_is_bytes_and_changes_most_contents(damage):
    changed = [damage(TEXT, np.random.default_rng(seed)) for seed in range(40)]
    assert sum(one != TEXT for one in changed) > 12
    assert isinstance(damage(b"", np.random.default_rng(0)), bytes)


def test_the_same_generator_gives_the_same_damage():
    for damaged in (damaged_bytes, damaged_text):
        assert damaged(TEXT, np.random.default_rng(7)) == damaged(TEXT, np.random.default_rng(7))
        assert len({damaged(TEXT, np.random.default_rng(seed))[0] for seed in range(40)}) > 30


def test_a_json_value_is_changed_and_the_original_is_not():
    value = {"a": [1, 2, {"b": "text"}], "c": None}
    before = json_text(value)
    changed = {json_text(damaged_json(value, np.random.default_rng(seed))[0]) for seed in range(60)}
    assert json_text(value) == before
    assert len(changed) > 40
    assert damaged_json([], np.random.default_rng(0)) == ([], "")
