import json

import pytest

from understudy.reporting.scripts import (
    CONTROLS,
    DIRECTIONS,
    content_policy,
    page_scripts,
    page_styles,
    script_data,
    with_all_visible,
)

HOSTILE = "</script><img src=x onerror=alert(1)><!--<script> ]]> & \u2028\u2029 \udcff"


@pytest.mark.parametrize("content", [HOSTILE, {HOSTILE: [HOSTILE]}, [1.5, None, "é"]])
def test_data_reads_as_it_was_and_holds_nothing_that_ends_a_script(content):
    text = script_data(content)
    assert json.loads(text) == content
    assert not {"<", ">", "&", "\u2028", "\u2029"} & set(text)
    assert text.isascii()


def test_numbers_that_json_lacks_are_refused():
    with pytest.raises(ValueError, match="not JSON compliant"):
        script_data([float("nan")])


def test_scripts_can_stand_inside_a_page_with_the_licence_of_what_is_not_ours():
    uplot, ours = page_scripts()
    assert "Permission is hereby granted" in uplot
    assert "Leon Sorokin" in uplot
    for script in (uplot, ours):
        assert "</script" not in script.lower()
        assert "<!--" not in script
    assert "innerHTML" not in ours  # names are the user's, and are set as text
    assert "url(" not in page_styles()


def test_the_policy_names_each_script_and_allows_nothing_else():
    policy = content_policy(["alert(1)"])
    assert "script-src 'sha256-bhHHL3z2vDgxUt0W3dWQOrprscmda2Y5pLsLg4GF+pI='" in policy
    assert policy.startswith("default-src 'none'")
    assert "script-src 'none'" in content_policy([])


def test_what_turns_the_direction_of_text_or_is_none_is_written_out():
    """In a name, it would turn our own words and numbers after it: 0.385 would read 583.0."""
    name = "".join(DIRECTIONS + CONTROLS)
    assert not set(name) & set(with_all_visible(f"<p>{name}</p>"))
    shown = json.loads(script_data([name, "plain"]))
    assert shown[1] == "plain"
    assert not set(name) & set(shown[0])
    assert "\\u202e" in shown[0]
    assert json.loads(script_data({r"\u202e": r"\u202e"})) == {r"\u202e": r"\u202e"}  # who writes it out gets no more
