"""Names of definitions keep to the glossary of CONTRIBUTING.md, and no text has the words of an earlier version."""

import re
from pathlib import Path

import pytest

from tests.support.source.tree import banned_definitions, read_source_tree, split_words


@pytest.mark.slow
def test_no_definition_has_a_banned_word_in_its_name() -> None:
    tree = read_source_tree(Path(__file__).parents[1])
    assert len(tree.modules) > 100
    banned = banned_definitions(tree)
    assert [f"{found.path}:{found.line} {found.qualified_name}" for found in banned] == []


def test_a_name_is_split_at_underscores_and_capitals() -> None:
    assert split_words("_take_backHTTPDoor2") == ["take", "back", "http", "door"]
    assert split_words("understand") == ["understand"]


OLD_WORDS = Path(__file__).parent / "support" / "source" / "old_words.txt"
"""Sentences that users read in an earlier version, one per line; plain ones replaced them."""

_JOINT = re.compile(r'"\s+f?"')
"""Where a text goes on in the next literal."""


@pytest.mark.slow
def test_no_text_of_the_product_has_the_old_words() -> None:
    old = [line for line in OLD_WORDS.read_text("utf-8").splitlines() if line]
    assert len(old) > 250
    root = Path(__file__).parents[1]
    files = [one for one in (root / "opencode_tui").rglob("*") if one.suffix in (".py", ".md")]
    pages = (root / "docs").rglob("*.md")
    texts = {
        one: _JOINT.sub("", " ".join(one.read_text("utf-8").split())) for one in (*files, root / "README.md", *pages)
    }
    assert len(texts) > 300
    assert [(str(one.relative_to(root)), words) for one, text in texts.items() for words in old if words in text] == []
