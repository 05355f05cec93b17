"""Why a permission question is asked, in words."""

from pathlib import Path

import pytest

from opencode_tui.schema.api.project import Places
from opencode_tui.schema.permission import PermissionRequest, Rule, Verdict
from opencode_tui.text.permission import always_of, reason_of, reasons_of

HERE = Path("/home/me/p")
PLACES = Places(home="/home/me", state="/s", config="/c", data="/d", worktree="/home/me/p", directory="/home/me/p")


def asked(permission: str, *patterns: str, always: tuple[str, ...] = (), **metadata: object) -> PermissionRequest:
    return PermissionRequest(
        id="per_1",
        session_id="ses_1",
        permission=permission,
        patterns=list(patterns),
        always=list(always),
        metadata=dict(metadata),
    )


def verdict(permission: str, pattern: str, rule: str | None, source: str | None = None) -> Verdict:
    found = Rule(permission=permission, pattern=rule, action="ask") if rule else None
    return Verdict(permission=permission, pattern=pattern, action="ask", rule=found, source=source)


@pytest.mark.parametrize(
    ("request_", "verdicts", "reasons"),
    [
        (
            asked("read", ".env"),
            [verdict("read", ".env", "*.env")],
            "The build agent needs approval to read *.env files (default rule).",
        ),
        (
            asked("edit", "a.py"),
            [verdict("edit", "a.py", "*", "/home/me/.config/opencode.jsonc")],
            "Your settings require approval for edits (edit: ask, ~/.config/opencode.jsonc).",
        ),
        (
            asked("webfetch", "https://x"),
            [verdict("webfetch", "https://x", None)],
            "No matching rule, so it needs approval.",
        ),
        (asked("external_directory", "/etc/*"), [], "/etc is not in ~/p."),
        (
            asked("edit", ".git/config", "a.py", protected=[".git/config"]),
            [],
            "Changes .git/config, which can start programs later.",
        ),
        (
            asked("edit", "a", protected=[".git/a", ".git/b", ".git/c", ".git/d"]),
            [],
            "Changes .git/a, .git/b, .git/c, …, which can start programs later.",
        ),
        (asked("doom_loop", "read"), [], "It has made the same tool call 3 times."),
        (asked("hook", "write", reason="is it Monday?"), [], "The hook says: is it Monday?"),
        (
            asked("bash", "curl x", network=True, opaque=True),
            [],
            "This can run arbitrary code, so it needs your approval. Accesses the network. Working directory: ~/p",
        ),
    ],
)
def test_the_reasons_are_sentences(request_: PermissionRequest, verdicts: list[Verdict], reasons: str) -> None:
    assert " ".join(reasons_of(request_, verdicts, HERE, agent="build", places=PLACES)) == reasons


def test_of_several_parts_those_that_need_approval_are_counted() -> None:
    allowed = verdict("bash", "c", "*").changed(action="allow")
    verdicts = [verdict("bash", "a", "*"), verdict("bash", "b", "*"), allowed]
    assert "2 of 3 commands need approval." in reasons_of(asked("bash", "a", "b", "c"), verdicts, HERE)


def test_a_grant_is_the_reason_before_the_rule() -> None:
    granted = verdict("bash", "ls", "*").changed(grant=Rule(permission="bash", pattern="ls *", action="allow"))
    assert reason_of(granted, None) == 'you always allow "ls *"'
    assert reason_of(verdict("bash", "ls", "*"), None) == "default rule *"
    assert reason_of(verdict("bash", "ls", None), None) == "no matching rule"


def test_the_key_for_always_names_what_it_allows() -> None:
    assert always_of(asked("edit", "a.py", always=("*",))) == "always allow all edits"
    assert always_of(asked("bash", "x", always=("npm *", "ls"))) == 'always allow "npm *", "ls"'
