"""A text that somebody else wrote takes time by its length: nothing searches or copies it anew from each of its characters.

An expression holds all threads of a process up, so that the screen stands still meanwhile.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow


ROOT = Path(__file__).parents[1]

SEARCHES = [
    ("opencode_tui.config.trust.gate", "_ATTACHMENT", "findall", "@"),
    ("opencode_tui.config.trust.gate", "_LEADS_OUT", "search", "."),
    ("opencode_tui.engine.permission.shell.operands", "_DATA_FILE", "search", "-a"),
    ("opencode_tui.engine.permission.shell.state", "_ARITHMETIC_ASSIGNMENT", "findall", "aA"),
    ("opencode_tui.engine.permission.shell.state", "_ARITHMETIC_ASSIGNMENT", "findall", "a["),
    ("opencode_tui.engine.provider.demo.tour", "_THEN", "split", "\t"),
    ("opencode_tui.engine.provider.demo.tour", "_LINE", "findall", "\n"),
    ("opencode_tui.engine.sandbox.folders", "_INCLUDED", "findall", "\n"),
    ("opencode_tui.engine.session.until", "_CHANGING", "findall", "0"),
    ("opencode_tui.extras.importing.claude_messages", "_SUMMARY_TAIL", "findall", "\n"),
    ("opencode_tui.redaction.session", "_ASSIGNMENT", "findall", "\n"),
    ("opencode_tui.extras.drawings.math_text", "_FORMULA", "findall", "`"),
]
"""Expressions that are searched for in a text, by module and name, and what a text repeats."""

SEARCHING = """
import importlib, json, os, resource, sys
from collections import Counter
from pathlib import Path
from opencode_tui.config.redact import redact_address
from opencode_tui.engine.sandbox.policy import Policy
from opencode_tui.engine.tool.edit.patch import parse_patch
from opencode_tui.engine.sandbox.refusal import find_refusal
from opencode_tui.redaction.detectors import redact

def search(module, name, method, unit):
    expression = getattr(importlib.import_module(module), name)
    getattr(expression, method)("a" + unit * (300_000 // len(unit)))

def cover(unit):
    redact_address("https://a/" + unit * (300_000 // len(unit)))

def hide(unit):
    redact("Secret token cookie " + unit * (32_000 // len(unit)), Counter())

def look_for_refusal(line):
    policy = Policy((), (), (), (), Path("/tmp"), "none", {})
    find_refusal("bubblewrap", 1, line * (300_000 // len(line)) + "\\nname or service not known", policy)

def make_file(line):
    parse_patch("*** Begin Patch\\n*** Add File: a\\n" + f"+{line}\\n" * (300_000 // len(line)) + "*** End Patch")

failed = []
searches, addresses, shared, lines, new_files = json.load(sys.stdin)
work = [(search, one) for one in searches]
work += [(cover, [one]) for one in addresses]
work += [(hide, [one]) for one in shared]
work += [(look_for_refusal, [one]) for one in lines]
work += [(make_file, [one]) for one in new_files]
for call, given in work:
    child = os.fork()
    if not child:
        resource.setrlimit(resource.RLIMIT_CPU, (5, 5))
        call(*given)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        failed.append(given)
print(json.dumps(failed))
"""

ADDRESSES = ["?", "&", "?key", "//a@"]
"""What an address repeats."""

SHARED = [".env.", "t1.", "a-"]
"""What a text repeats that is shared, in one piece as it is searched for secrets."""

OUTPUT = ["no such host=a", "no such host Could not transfer artifact (", "ENOTFOUND download https://a to https://a "]
"""Lines of a command's output that repeat how errors of the network begin."""


NEW_FILE = ["x"]
"""Lines of a file that a patch adds."""


def test_expressions_take_time_by_the_length_of_a_text() -> None:
    command = [sys.executable, "-c", SEARCHING]
    done = subprocess.run(
        command,
        cwd=ROOT,
        input=json.dumps([SEARCHES, ADDRESSES, SHARED, OUTPUT, NEW_FILE]),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.returncode) == ("[]\n", 0), done.stderr
