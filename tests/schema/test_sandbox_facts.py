from typing import Any

import pytest

from opencode_tui.schema.session.sandbox import SandboxFacts, sandbox_of

FULL = {
    "kind": "refused",
    "runs": "sandbox",
    "tier": "bubblewrap",
    "reasons": [],
    "folder": "/p",
    "protected": [{"path": ".envrc", "change": "created", "seen": True}],
    "undone": [".envrc"],
    "refused": {"what": "It wrote /etc/x.", "path": "/etc/x", "errno": 30},
    "later": {"of": "a newer program"},
}


def test_facts_survive_a_rewrite_with_fields_of_newer_programs() -> None:
    facts = sandbox_of({"sandbox": FULL, "exit": 0})
    assert facts is not None and facts.to_dict() == FULL
    assert facts.refused is not None and facts.refused.path == "/etc/x"


def test_what_is_not_known_is_absent() -> None:
    assert SandboxFacts(runs="host", tier="none").to_dict() == {"runs": "host", "tier": "none"}


@pytest.mark.parametrize(
    ("wrong", "kept"),
    [
        ({"kind": 5}, {}),
        ({"reasons": ["a", 1]}, {}),
        ({"runs": "elsewhere"}, {}),
        ({"refused": "yes", "tier": "landlock"}, {"tier": "landlock"}),
        ({"protected": [{"path": 1}], "files": "a"}, {}),
    ],
)
def test_values_of_other_types_are_left_out(wrong: dict[str, Any], kept: dict[str, Any]) -> None:
    facts = sandbox_of({"sandbox": {**wrong, "folder": "/p"}})
    assert facts is not None and facts.to_dict() == {**kept, "folder": "/p"}


@pytest.mark.parametrize("metadata", [{}, {"sandbox": None}, {"sandbox": "bubblewrap"}, {"sandbox": []}])
def test_other_metadata_has_no_facts(metadata: dict[str, Any]) -> None:
    assert sandbox_of(metadata) is None


def test_a_command_leaves_the_sandbox_only_where_one_works() -> None:
    found = [SandboxFacts(runs="host", tier=tier).leaves for tier in ("bubblewrap", None, "none")]
    assert found == [True, True, False]
    assert not SandboxFacts(runs="sandbox", tier="bubblewrap").leaves
