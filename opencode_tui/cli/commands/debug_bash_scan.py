"""`opencode-tui debug bash-scan`: analyze shell commands, JSON lines in and out.

Input: `{id, command, cwd, home, project_root, symlinks, files, rules?}`; the file system is virtual. Output: one line each.
"""

import json
import sys

import click

from opencode_tui.engine.permission.shell.filesystem import VirtualFileSystem
from opencode_tui.engine.permission.shell.scan import decide, scan
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
    files = VirtualFileSystem(
        question["project_root"], files=question.get("files", []), symlinks=question.get("symlinks", {})
    )
    found = scan(
        question["command"],
        cwd=question["cwd"],
        home=question["home"],
        project_root=question["project_root"],
        filesystem=files,
    )
    return {
        "id": question.get("id"),
        "commands": found.commands,
        "external": [{"path": external.path, "mode": external.mode} for external in found.external],
        "sensitive": found.sensitive,
        "opaque": found.opaque,
        "network": found.network,
        "decision": decide(found, _rules(question.get("rules"))),
        "always": found.always,
    }


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
