"""Rules for files on a disk that ignores the case of names: a rule that does not allow holds in each spelling, of both sides."""

import pytest

from opencode_tui.engine.permission.path_forms import PathForms
from opencode_tui.engine.permission.ruleset import evaluate
from opencode_tui.schema.permission import Action, Rule

ROOT = "/home/ada/project"


def decide(rules: dict[str, Action], path: str, *, ignores: bool = True, permission: str = "read") -> Action:
    forms = PathForms(ROOT, [ROOT], ignores)
    ruleset = [Rule(permission=permission, pattern=pattern, action=action) for pattern, action in rules.items()]
    return evaluate(permission, path, ruleset, forms=forms.of(permission, path)).action


@pytest.mark.parametrize(
    "rule",
    ["secrets/*", "SECRETS/*", f"{ROOT}/Secrets/*", "**/secrets/**", "café/*", "cafe\N{COMBINING ACUTE ACCENT}/*"],
)
@pytest.mark.parametrize(
    "name",
    ["secrets", "Secrets", "SECRETS", "\N{LATIN SMALL LETTER LONG S}ecrets", "café", "CAFE\N{COMBINING ACUTE ACCENT}"],
)
@pytest.mark.parametrize("start", ["", f"{ROOT}/"])
def test_a_denied_name_is_denied_in_each_spelling(rule: str, name: str, start: str) -> None:
    concerns = ("caf" in rule.lower()) == ("caf" in name.lower())
    assert decide({"*": "allow", rule: "deny"}, f"{start}{name}/key") == ("deny" if concerns else "allow")


def test_an_allowed_name_is_allowed_as_it_is_written_only() -> None:
    assert decide({"*": "deny", "src/*": "allow"}, "src/a") == "allow"
    assert decide({"*": "deny", "src/*": "allow"}, "SRC/a") == "deny"


def test_elsewhere_other_spellings_are_other_files() -> None:
    assert decide({"*": "allow", "secrets/*": "deny"}, "SECRETS/key", ignores=False) == "allow"


def test_a_question_is_asked_in_each_spelling_of_an_edit() -> None:
    assert decide({"*": "allow", "docs/*": "ask"}, "Docs/a.md", permission="edit") == "ask"
