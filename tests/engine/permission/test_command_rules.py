"""Claims about rules for commands: they hold in each spelling of a command, and for one of its program's own options, too."""

import re
from collections.abc import Iterator
from pathlib import Path

from opencode_tui.engine.permission.command_decision import CommandScope, decide_command, plan_command
from opencode_tui.engine.permission.defaults import PermissionFolders, default_rules
from opencode_tui.engine.permission.shell.filesystem import VirtualFileSystem
from opencode_tui.engine.permission.shell.readings import READING_LIMIT, read_command
from opencode_tui.engine.permission.shell.scan import scan
from opencode_tui.schema.permission import Action
from tests.support.rows import each
from tests.support.world.rules import rules

HOME, PROJECT = "/home/u", "/home/u/proj"
DEFAULT = default_rules(PermissionFolders(home=Path(HOME), tool_output=Path("/data/out")))
TABLE = Path(__file__).with_name("rules.txt")


def decided(given: str, line: str) -> Action:
    """Return what rules of the user (`PATTERN ACTION; …`) decide about a line, with no answer remembered, in the sandbox."""
    rows = [f"bash {row.strip()}" for row in given.split("; ")]
    layers = [[*DEFAULT, *rules(*([] if rows[0].startswith("bash * ") else ["bash * allow"]), *rows)]]
    system = VirtualFileSystem(PROJECT, files=["README.md", ".git/", "src/a.py", "vendor/HEAD"], symlinks={})
    found = scan(line, cwd=PROJECT, home=HOME, project_root=PROJECT, filesystem=system)
    scope = CommandScope(line, PROJECT, PROJECT, [PROJECT], layers, tier="bubblewrap")
    return decide_command(plan_command(found, scope), layers, [], tier="bubblewrap").action


def lines_of(action: str) -> Iterator[tuple[str, str]]:
    """Yield the rules and the line of each row of the sections for one decision."""
    for section in TABLE.read_text("utf-8").split("\n[")[1:]:
        heading, *rows = section.splitlines()
        for row in rows if heading.startswith(f"{action}:") else ():
            given, bar, line = row.partition(" | ")
            if bar:
                yield _plain(given), _plain(line)


def _plain(text: str) -> str:
    found = {"n": "\n", "t": "\t", "\\": "\\"}
    return re.sub(r"\\([nt\\])", lambda match: found[match[1]], text)


@each(("given", "line"), lines_of("deny"))
def test_a_rule_that_denies_holds_for_each_spelling(given: str, line: str) -> None:
    assert decided(given, line) == "deny"


@each(("given", "line"), lines_of("ask"))
def test_a_rule_that_asks_holds_and_one_that_allows_covers_nothing_else(given: str, line: str) -> None:
    assert decided(given, line) == "ask"


@each(("given", "line"), lines_of("allow"))
def test_a_rule_that_allows_covers_its_own_command(given: str, line: str) -> None:
    assert decided(given, line) == "allow"


def test_the_table_is_large_enough() -> None:
    counts = [len(list(lines_of(action))) for action in ("deny", "ask", "allow")]
    assert [count >= least for count, least in zip(counts, (170, 25, 35), strict=True)] == [True] * 3


def test_the_readings_of_a_command_with_hundreds_of_options_are_bounded() -> None:
    words = ["git", *(f"--option-{number}" for number in range(500)), "push"]
    found = read_command(words)
    assert "git push" in found.others and len(found.others) <= READING_LIMIT
