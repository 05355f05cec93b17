"""The profile of macOS's sandbox-exec, as text."""

import re
from pathlib import Path

from msgspec.structs import replace

from opencode_tui.engine.sandbox.launch import plan_launch
from opencode_tui.engine.sandbox.policy import Policy
from opencode_tui.engine.sandbox.tiers.seatbelt import PROGRAM, profile

POLICY = Policy(
    read=(Path("/usr"), Path("/opt/homebrew")),
    write=(Path("/Users/a/project"),),
    read_only=(Path("/Users/a/project/.git/config"), Path("/Users/a/project/one/two/.envrc")),
    hidden=(Path("/Users/a/project/.env"),),
    temp=Path("/Users/a/own"),
    network="none",
    environ={"PATH": "/usr/bin"},
)


def rules(policy: Policy) -> list[str]:
    """Return the rules in their order, each on one line."""
    return [" ".join(rule.split()) for rule in re.split(r"\n(?=\()", profile(policy).strip())]


def test_what_no_rule_allows_is_denied() -> None:
    assert rules(POLICY)[:2] == ["(version 1)", "(deny default)"]


def test_readable_and_writable_folders_are_allowed() -> None:
    assert '(allow file-read* (subpath "/usr") (subpath "/opt/homebrew"))' in rules(POLICY)
    assert '(allow file-read* file-write* (subpath "/Users/a/project") (subpath "/Users/a/own"))' in rules(POLICY)


def test_protected_and_hidden_paths_come_after_the_folders_that_hold_them() -> None:
    found = rules(POLICY)
    allowed = next(index for index, rule in enumerate(found) if '(subpath "/Users/a/project")' in rule)
    write = '(deny file-write* (subpath "/Users/a/project/.git/config") (subpath "/Users/a/project/one/two/.envrc"))'
    assert allowed < found.index(write)
    assert allowed < found.index('(deny file-read* file-write* (subpath "/Users/a/project/.env"))')


def test_the_folders_that_lead_to_protected_paths_cannot_be_moved() -> None:
    names = ("/Users/a/project/.git", "/Users/a/project/one", "/Users/a/project/one/two")
    literals = " ".join(f'(literal "{name}")' for name in names)
    assert f"(deny file-write-unlink {literals})" in rules(POLICY)


def test_the_network_is_allowed_only_where_the_policy_says_so() -> None:
    assert "(allow network*)" not in rules(POLICY)
    assert "(allow network*)" in rules(replace(POLICY, network="full"))
    assert '(allow network* (subpath "/Users/a/project") (subpath "/Users/a/own"))' in rules(POLICY)


def test_paths_are_quoted() -> None:
    odd = replace(POLICY, write=(Path('/a "b" \\c) (allow default'),))
    assert '(subpath "/a \\"b\\" \\\\c) (allow default")' in profile(odd)


def test_the_program_starts_under_sandbox_exec() -> None:
    launch = plan_launch("seatbelt", POLICY, ("/bin/sh", "-c", "true"), Path("/Users/a/project"))
    assert launch.argv == (PROGRAM, "-p", profile(POLICY), "/bin/sh", "-c", "true")
    assert launch.environ["TMPDIR"] == "/Users/a/own"
