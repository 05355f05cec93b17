"""`opencode-tui debug bash-scan`: analyze shell commands, JSON lines in and out.

Input: `{id, command, cwd, home, project_root, symlinks, files, rules?}`; the file system is virtual. Output: one line each.
"""

import json
import sys

import click

from opencode_tui.engine.permission.command_decision import CommandScope, decide_command, plan_command
from opencode_tui.engine.permission.decision import open_patterns
from opencode_tui.engine.permission.shell.filesystem import VirtualFileSystem
from opencode_tui.engine.permission.shell.scan import Scan, scan
from opencode_tui.schema.permission import Action, Rule
from opencode_tui.schema.record import JsonObject

_ASK_ALL: list[tuple[str, Action]] = [("*", "ask")]
_DEFAULT: list[tuple[str, Action]] = [("*", "allow")]


@click.command(name="bash-scan")
def bash_scan() -> None:
    """Read shell commands as JSON lines and print what each one would do, and the decision."""
    for line in sys.stdin:
        if line.strip():
            sys.stdout.write(json.dumps(answer(json.loads(line))) + "\n")
            sys.stdout.flush()


def answer(question: JsonObject) -> JsonObject:
    """Return the analysis of one command; input and output have the form of the corpus."""
    root: str = question["project_root"]
    files = VirtualFileSystem(root, files=question.get("files", []), symlinks=question.get("symlinks", {}))
    found = scan(
        question["command"],
        cwd=question["cwd"],
        home=question["home"],
        project_root=root,
        filesystem=files,
    )
    return {
        "id": question.get("id"),
        "commands": found.commands,
        "external": [{"path": external.path, "mode": external.mode} for external in found.external],
        "sensitive": found.sensitive,
        "opaque": found.opaque,
        "network": found.network,
        "decision": decide(found, question["command"], question["cwd"], root, _rules(question.get("rules"))),
        "always": found.always,
    }


def decide(found: Scan, command: str, folder: str, root: str, rules: list[Rule]) -> str:
    """Return the decision where no sandbox works; `ask-external` if a path outside must be allowed."""
    plan = plan_command(found, CommandScope(command=command, folder=folder, root=root, roots=[root], layers=[rules]))
    action = decide_command(plan, [rules], []).action
    outside = [query for query in (plan.query, *plan.query.also) if query.permission == "external_directory"]
    if action == "ask" and any(open_patterns(query, [rules]) for query in outside):
        return "ask-external"
    return action


def _rules(given: list[tuple[str, Action]] | None) -> list[Rule]:
    """Return the rules of an input: those for bash after the default ones for external folders and secrets."""
    bash = _ASK_ALL if given is None else given or _DEFAULT
    return [
        Rule(permission="external_directory", pattern="*", action="ask"),
        Rule(permission="read", pattern="*", action="allow"),
        Rule(permission="read", pattern="*.env", action="ask"),
        Rule(permission="read", pattern="*.env.*", action="ask"),
        *(Rule(permission="bash", pattern=pattern, action=action) for pattern, action in bash),
    ]
