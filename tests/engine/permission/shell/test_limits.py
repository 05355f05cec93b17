"""Whatever the text is: an answer comes, soon, and what was not looked at is opaque."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.rows import each
from tests.support.shell.world import scanned

pytestmark = pytest.mark.slow


ROOT = Path(__file__).parents[4]

PIECES = [
    "ls", "rm ../f", " ", "\n", ";", "|", "&&", "&", "(", ")", "{ ", " }", "$(", "`", "'", '"', "${x:-", "}", "<<E\n", "\nE\n",
    ">", "<", "[[ ", " ]]", "((", "))", "if ", "; then ", "; fi", "for i in ", "; do ", "; done", "case x in ", "*", "\\", "$x",
    "=", "f() ", "!", "#", "~", "{a,b}", "../", "\0", "\ud800", "\u202e", "\udcff", "é",
]  # fmt: skip


@settings(max_examples=100)
@given(st.lists(st.sampled_from(PIECES), max_size=25).map("".join) | st.text(max_size=40))
def test_no_text_raises(text: str) -> None:
    scan = scanned(text)
    assert scan.opaque or scan.parsed


@each(
    "text",
    [
        "$(" * 60_000 + "ls" + ")" * 60_000,
        "{ " * 30_000 + "ls;" + " }" * 30_000,
        "`" * 100_001,
        "'" * 100_001,
        "eval " * 40_000,
        "sudo " * 40_000,
        "ls | " * 40_000 + "ls",
        "ls && " * 30_000 + "ls",
        "rm ../a; " * 20_000,
        "a=" + "b" * 20 + ";" + "a=$a$a;" * 200 + "rm $a",
        "rm {a,b}" + "{a,b}" * 40,
        "<<a " * 40_000,
        "for a in 1 2 3 4 5 6 7 8; do " * 8 + "ls;" + "done;" * 8,
        "f() { g; g; }; g() { h; h; }; h() { f; f; }; " * 50 + "f",
        "unknown " + "=/a" * 60_000,
    ],
    ids=lambda text: text[:12],
)
def test_a_text_beyond_the_limits_is_opaque(text: str) -> None:
    assert scanned(text).opaque is True


def test_a_large_argument_is_nothing_special() -> None:
    scan = scanned("echo " + "A" * 200_000)
    assert (scan.opaque, scan.always) == (False, ["echo *"])


@settings(max_examples=100)
@given(st.text(st.characters(min_codepoint=0xFF), max_size=60))
def test_wide_characters_reach_the_texts_unchanged(text: str) -> None:
    word = "".join(letter for letter in text if letter.isalpha())
    assert scanned(f"cat ../{word} '{word}'").commands == [f"cat ../{word} '{word}'"]


SLOW = {
    "pipes": "a|", "arrays": "a=(", "bars": "|", "redirections": ">", "branches": "if a; then ", "here": "<<a ",
    "substitutions": "$(", "backquotes": "`\\`", "braces": "cat {a,", "ranges": "cat {1..9999999999} ",
    "doubling": "x=$x$x; ", "hashes": "a#", "functions": "f() ", "nested": "bash -c '" + "a=(" * 1_300 + "'\n",
}  # fmt: skip
QUOTED = {
    "awk": "awk '{}'", "sed": "sed 's/{}/x/' f", "python": 'python3 -c "{}"', "glob": "cat {}", "address": "curl '{}'",
    "addresses": "curl {}", "ranges of an address": "curl '{}:'", "git": "git log -- '{}'", "top": "git show ':/{}'",
    "cases": "git show ':(icase){}'", "sets": "tar -cf x {}", "names": "find . -name '{}' -delete",
    "included": "grep -r x --include='{}' .", "stars": "rm {}",
    "data": "curl -d '{}' a", "named data": "curl -F 'a={}' a", "sum": "echo $(({}))", "index": "(( {} ))", "classes": "rm {}",
}  # fmt: skip
UNITS = {
    "awk": '"\\', "sed": "[", "python": "'../", "glob": "*?", "address": "{", "addresses": "{", "ranges of an address": "[",
    "git": "[", "top": "[[:", "cases": "[", "sets": "[", "names": "[", "included": "[", "stars": "*a",
    "data": "a", "named data": "a-", "sum": "a", "index": "a[", "classes": "[[:",
}  # fmt: skip

SCANNING = """
import json, os, resource, sys, traceback
from tests.support.shell.world import scanned
def scan(unit, around):
    resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
    resource.setrlimit(resource.RLIMIT_AS, (1_500_000_000, 1_500_000_000))
    for size in (15_000, 200_000):
        scanned(around.replace("{}", unit * (size // len(unit))))
failed = {}
for kind, (unit, around) in json.load(sys.stdin).items():
    child = os.fork()
    if not child:
        try:
            scan(unit, around)
            os._exit(0)
        except BaseException:
            traceback.print_exc()
        os._exit(1)
    _, status = os.waitpid(child, 0)
    if status:
        failed[kind] = status
print(json.dumps(failed))
"""


def test_texts_made_to_be_slow_end_within_limits_of_processor_time_and_memory() -> None:
    kinds = {kind: (unit, "{}") for kind, unit in SLOW.items()}
    kinds |= {kind: (UNITS[kind], around) for kind, around in QUOTED.items()}
    command = [sys.executable, "-c", SCANNING]
    done = subprocess.run(command, cwd=ROOT, input=json.dumps(kinds), capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode, len(kinds)) == ("{}\n", 0, 33), done.stderr


REPEATED = """
import resource
from tests.support.shell.world import scanned
def peak():
    scanned("a=(" * 5_000)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
first = peak()
for _ in range(8):
    last = peak()
print((last - first) * 1_000 // first)
"""


def test_texts_whose_parse_was_interrupted_leave_no_memory_behind() -> None:
    done = subprocess.run([sys.executable, "-c", REPEATED], cwd=ROOT, capture_output=True, text=True, check=True)
    assert int(done.stdout) < 150  # thousandths of the first peak; what the callback returned would be more than 350
