"""Names of definitions keep to the glossary of AGENTS.md."""

from pathlib import Path

from tests.support.source.tree import banned_definitions, read_source_tree, split_words


def test_no_definition_has_a_banned_word_in_its_name() -> None:
    tree = read_source_tree(Path(__file__).parents[1])
    assert len(tree.modules) > 100
    banned = banned_definitions(tree)
    assert [f"{found.path}:{found.line} {found.qualified_name}" for found in banned] == []


def test_a_name_is_split_at_underscores_and_capitals() -> None:
    assert split_words("_take_backHTTPDoor2") == ["take", "back", "http", "door"]
    assert split_words("understand") == ["understand"]
