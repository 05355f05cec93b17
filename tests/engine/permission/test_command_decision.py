"""Claims about where commands run and what is asked first: docs/internals/permissions.md#commands."""

from pathlib import Path

import pytest

from opencode_tui.engine.agent.agents import built_in_agents
from opencode_tui.engine.permission.command_decision import CommandDecision, CommandScope, decide_command, plan_command
from opencode_tui.engine.permission.defaults import PermissionFolders, default_rules
from opencode_tui.engine.permission.shell.needs import Kind, Reason
from opencode_tui.engine.permission.shell.scan import (
    ExternalPath,
    Member,
    Scan,
    ScannedPath,
    command_prefix,
)
from opencode_tui.schema.permission import Approvals, Ruleset
from tests.support.rows import each
from tests.support.world.rules import rules

ROOT = "/w/proj"
FOLDERS = PermissionFolders(home=Path("/home/u"), tool_output=Path("/data/out"))
DEFAULT: Ruleset = default_rules(FOLDERS)
AGENTS = {agent.name: [*DEFAULT, *agent.permission] for agent in built_in_agents(FOLDERS)}

OPAQUE = ("npm", "cargo", "make", "python")
OUTSIDE: dict[str, Kind] = {
    "curl": "network",
    "npm install": "install",
    "git push": "remote",
    "git fetch": "remote",
}
DISCARDS = ("git reset --hard", "git push --force")


def scan_of(*commands: str) -> Scan:
    """Return facts about commands as the scanner finds them; its own tables have other tests.

    A word `r:PATH` or `w:PATH` is a path that is read or written, `swept:PATH` a file in a folder that is read as a whole.
    """
    found = Scan(
        opaque=any(text.startswith(OPAQUE) for text in commands),
        network=any(text.startswith("curl") for text in commands),
    )
    for text in commands:
        words = text.split()
        always = " ".join((*command_prefix(words), "*"))
        found.members.append(Member((text,), opaque=text.startswith(OPAQUE), always=(always,)))
        found.outside.extend(Reason(kind, "Leaves.", text) for start, kind in OUTSIDE.items() if text.startswith(start))
        found.discards.extend(Reason("discard", "Discards.", text) for start in DISCARDS if text.startswith(start))
        for word in words:
            match word.partition(":"):
                case ("r" | "w") as mode, ":", path if path.startswith("/"):
                    found.external.append(ExternalPath(path, mode, path.rpartition("/")[0]))
                    if not path.startswith("/usr/"):
                        found.outside.append(Reason("path", "Is outside.", text, path=path))
                case ("r" | "w") as mode, ":", path:
                    found.inside.append(ScannedPath(f"{ROOT}/{path}", mode))
                    found.sensitive.extend([f"{ROOT}/{path}"] if path.endswith((".env", ".git/config")) else [])
                case "swept", ":", path:
                    found.sensitive.append(f"{ROOT}/{path}")
                    found.swept.append(f"{ROOT}/{path}")
                case _:
                    pass
    return found


def decided(
    *commands: str,
    given: tuple[str, ...] = (),
    agent: str = "build",
    grants: tuple[str, ...] = (),
    tier: str = "bubblewrap",
    approvals: Approvals = "normal",
    above: Ruleset | None = None,
    folder: str = ROOT,
    is_shared: bool = False,
) -> CommandDecision:
    """Return the decision about commands under the default rules, then those of the user."""
    layers = [[*AGENTS[agent], *rules(*given)], *([above] if above is not None else [])]
    line = " && ".join(commands)
    scope = CommandScope(line, folder, ROOT, [ROOT], layers, tier=tier, is_shared=is_shared)
    return decide_command(
        plan_command(scan_of(*commands), scope), layers, rules(*grants), approvals=approvals, tier=tier
    )


INSIDE, HOST = "sandbox", "host"


@each(
    ("commands", "action", "runs", "kind"),
    [
        (["ls"], "allow", INSIDE, "rule"),
        (["npm test"], "allow", INSIDE, "rule"),
        (["npm test", "make"], "allow", INSIDE, "rule"),
        (["rm w:src/a.py"], "allow", INSIDE, "rule"),
        (["curl x"], "ask", HOST, "outside"),
        (["npm install"], "ask", HOST, "outside"),
        (["ls", "git push"], "ask", HOST, "outside"),
        (["git reset --hard"], "ask", INSIDE, "discard"),
        (["git push --force"], "ask", HOST, "outside"),
        (["cat r:/etc/passwd"], "ask", HOST, "outside"),
        (["cat r:/data/out/tool_1"], "allow", INSIDE, "rule"),
        (["cat r:/usr/share/x"], "allow", INSIDE, "rule"),
        (["cat r:.env"], "ask", HOST, "outside"),
        (["tee w:.git/config"], "ask", HOST, "outside"),
    ],
)
def test_with_a_sandbox_only_what_leaves_or_discards_is_asked(
    commands: list[str], action: str, runs: str, kind: str
) -> None:
    decision = decided(*commands)
    assert (decision.action, decision.runs, decision.kind) == (action, runs, kind)


@pytest.mark.parametrize(
    ("commands", "action"),
    [
        (["ls"], "allow"),
        (["npm test"], "ask"),
        (["ls", "make"], "ask"),
        (["curl x"], "ask"),
        (["git reset --hard"], "ask"),
    ],
)
def test_without_a_sandbox_unknown_effects_are_asked_too(commands: list[str], action: str) -> None:
    decision = decided(*commands, tier="none")
    assert (decision.action, decision.runs) == (action, HOST)


@each("tier", ["bubblewrap", "landlock", "none"])
@each(
    ("commands", "given", "action"),
    [
        (["npm test"], ["bash npm test allow"], "allow"),
        (["npm test -- -u"], ["bash npm * allow"], "allow"),
        (["make"], ["bash * allow"], "allow"),
        (["make"], ["* * allow"], "allow"),
        (["cargo test"], ["bash * ask", "bash cargo test* allow"], "allow"),
        (["npm test"], ["bash npm * ask"], "ask"),
        (["npm test"], ["bash npm * deny"], "deny"),
        (["ls", "npm test"], ["bash npm * deny"], "deny"),
        (["git push"], ["bash git push * allow"], "allow"),
        (["git push", "curl x"], ["bash git push * allow"], "ask"),
        (["git reset --hard"], ["bash git reset * allow"], "allow"),
        (["cat r:/etc/hosts"], ["external_directory /etc/* allow"], "allow"),
        (["cat r:/etc/hosts"], ["external_directory /etc/* deny"], "deny"),
        (["cat r:/usr/share/x"], ["external_directory /usr/* deny"], "deny"),
        (["cat r:/usr/share/x"], ["external_directory /usr/* ask"], "ask"),
        (["cat r:.env"], ["read *.env allow"], "allow"),
        (["tee w:.git/config"], ["edit * allow"], "ask"),
        (["tee w:.git/config"], ["edit .git/config allow"], "allow"),
    ],
)
def test_rules_of_the_user_decide_in_every_tier(commands: list[str], given: list[str], action: str, tier: str) -> None:
    assert decided(*commands, given=tuple(given), tier=tier).action == action


@pytest.mark.parametrize(
    ("commands", "grants", "action"),
    [
        (["npm install x"], ["bash npm install * allow"], "allow"),
        (["npm install x"], ["bash npm test * allow"], "ask"),
        (["git push origin"], ["bash git push * allow"], "allow"),
        (["git push --force"], ["bash git push * allow"], "ask"),
        (["git push --force"], ["bash git push --force allow"], "allow"),
        (["cat r:/etc/hosts"], ["external_directory /etc/* allow"], "allow"),
        (["tee w:.git/config"], ["edit * allow"], "ask"),
    ],
)
def test_a_grant_covers_the_kind_of_a_command_but_never_a_loss(
    commands: list[str], grants: list[str], action: str
) -> None:
    assert decided(*commands, grants=tuple(grants)).action == action


def test_a_grant_for_unknown_effects_counts_where_no_sandbox_works() -> None:
    assert decided("npm test -- -u", grants=("bash npm test * allow",), tier="none").action == "allow"
    assert decided("npm test", given=("bash npm * deny",), grants=("bash npm * allow",), tier="none").action == "deny"


@pytest.mark.parametrize(
    ("commands", "always"),
    [
        (["npm install left-pad"], ("npm install *",)),
        (["ls", "git push origin"], ("git push *",)),
        (["git push --force origin"], ("git push --force origin",)),
        (["cat r:/etc/hosts"], ("/etc/*",)),
        (["tee w:.git/config"], ()),
    ],
)
def test_always_would_grant_only_what_is_asked_for(commands: list[str], always: tuple[str, ...]) -> None:
    assert decided(*commands).always == always


def test_always_grants_no_folder_that_a_rule_allows_anyway() -> None:
    given = ("external_directory /etc/* allow",)
    assert decided("cat r:/etc/hosts", "cat r:/srv/a", given=given).always == ("/srv/*",)
    assert decided("cat r:/etc/hosts", "cat r:/srv/a").always == ("/etc/*", "/srv/*")


def test_what_runs_outside_with_a_rule_still_asks_for_its_unknown_members() -> None:
    assert decided("npm test", "git push", given=("bash git push * allow",)).action == "ask"
    assert decided("npm test", "cat r:/etc/hosts", given=("external_directory /etc/* allow",)).action == "ask"


@each("agent", ["plan", "explore"])
@each(
    ("command", "action"),
    [
        ("ls", "allow"),
        ("npm test", "allow"),
        ("rm w:src/a.py", "deny"),
        ("git reset --hard", "deny"),
        ("git push", "deny"),
        ("git fetch", "deny"),
        ("curl x", "deny"),
    ],
)
def test_an_agent_that_may_not_edit_stays_inside_and_reads(agent: str, command: str, action: str) -> None:
    decision = decided(command, agent=agent)
    assert decision.action == action
    assert decided(command, given=("edit * deny",)).action == action


def test_such_an_agent_may_ask_to_read_outside() -> None:
    assert decided("cat r:/etc/hosts", agent="plan").action == "ask"
    assert decided("tee w:/etc/hosts", agent="plan").action == "deny"
    assert decided("tee w:.opencode/plans/a.md", agent="plan").action == "allow"


@each(
    ("command", "allowed", "folder", "action"),
    [
        ("curl r:up.txt", "curl *", ROOT, "ask"),
        ("curl w:out.txt", "curl *", ROOT, "ask"),
        ("git push", "git push", f"{ROOT}/sub", "ask"),
        ("git push", "git *", f"{ROOT}/sub", "ask"),
        ("curl r:up.txt", "curl r:up.txt", ROOT, "allow"),
        ("curl r:up.txt", "*", ROOT, "allow"),
        ("curl x", "curl *", ROOT, "allow"),
        ("git push", "git push", ROOT, "allow"),
    ],
)
@each("is_rule", [True, False])
def test_what_leaves_with_files_that_a_running_command_can_exchange_asks(
    command: str, allowed: str, folder: str, action: str, is_rule: bool
) -> None:
    given, grants = ((f"bash {allowed} allow",), ()) if is_rule else ((), (f"bash {allowed} allow",))
    assert decided(command, folder=folder, given=given, grants=grants).action == "allow"
    decision = decided(command, folder=folder, is_shared=True, given=given, grants=grants)
    assert decision.action == action
    assert ("can exchange" in " ".join(decision.reasons)) == (
        command != "curl x" and (folder, command) != (ROOT, "git push")
    )
    assert decided(command, folder=folder, is_shared=True, tier="none", given=given, grants=grants).action == "allow"


def test_no_grant_moves_a_line_with_such_files_outside() -> None:
    assert decided("ls r:a", grants=("bash ls * allow",), is_shared=True).runs == "sandbox"


@pytest.mark.parametrize(
    ("command", "given", "action"),
    [
        ("cat r:secrets/x", ["read *secrets/* deny"], "deny"),
        ("cat r:secrets/x", ["read *secrets/* ask"], "ask"),
        ("rm w:src/a.py", ["edit src/* deny"], "deny"),
        ("rm w:src/a.py", ["edit * ask"], "ask"),
        ("rm w:lib/a.py", ["edit src/* deny"], "allow"),
        ("curl https://a.org/x", ["webfetch * deny"], "deny"),
        ("curl https://a.org/x", ["webfetch https://a.org/* deny"], "deny"),
        ("curl https://b.org/x", ["webfetch https://a.org/* deny", "bash curl * allow"], "allow"),
    ],
)
def test_rules_for_files_and_pages_hold_for_commands(command: str, given: list[str], action: str) -> None:
    assert decided(command, given=tuple(given)).action == action


@pytest.mark.parametrize(
    ("command", "approvals", "tier", "action"),
    [
        ("ls", "ask", "bubblewrap", "ask"),
        ("curl x", "ask", "bubblewrap", "ask"),
        ("git reset --hard", "auto", "bubblewrap", "allow"),
        ("curl x", "auto", "bubblewrap", "deny"),
        ("curl x", "auto", "none", "allow"),
        ("npm test", "auto", "none", "allow"),
    ],
)
def test_the_mode_of_approvals_changes_what_is_asked(
    command: str, approvals: Approvals, tier: str, action: str
) -> None:
    assert decided(command, approvals=approvals, tier=tier).action == action


def test_in_the_mode_ask_rules_and_grants_of_the_user_count() -> None:
    assert decided("ls", approvals="ask", given=("bash ls * allow",)).action == "allow"
    assert decided("ls", approvals="ask", grants=("bash ls * allow",)).action == "allow"


def test_the_rules_of_the_caller_hold_too() -> None:
    asking = [*AGENTS["build"], *rules("bash npm * ask")]
    assert decided("npm test", above=asking).action == "ask"
    assert decided("npm test", given=("bash npm * allow",), above=asking).action == "ask"
    assert decided("rm w:a", above=AGENTS["plan"]).action == "deny"
    assert decided("curl x", above=AGENTS["plan"]).action == "deny"


def test_a_file_with_secrets_in_a_folder_that_is_searched_asks_where_the_sandbox_does_not_hide_it() -> None:
    actions = {tier: decided("grep -r x swept:.env", tier=tier).action for tier in ("bubblewrap", "landlock", "none")}
    assert actions == {"bubblewrap": "allow", "landlock": "ask", "none": "ask"}
    assert decided("cat r:.env", tier="bubblewrap").action == "ask"
