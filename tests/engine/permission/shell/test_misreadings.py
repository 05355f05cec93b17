"""Texts that the grammar reads in another way than bash, found by holding random scripts against bash itself."""

import pytest

from tests.support.rows import each
from tests.support.shell.world import outside, scanned


@each(
    "command",
    [
        "! { touch ../f; }",
        "time { touch ../f; }",
        "time { ls; } 2> ../f",
        "coproc N { touch ../f; }",
        "{touch,../f}",
        "if true; then {touch,../f}\nfi",
        "touch ..\\\n/f",
        "# comment \\\ntouch ../f",
        "echo '\\\n'; touch ../f",
        "cat <<'E1' > .\\\n./f\na\nE1",
        "cat <<E1>x\na\nE1\ntouch ../f",
        "cat <<E1&& touch ../f\na\nE1",
        "true && ln -s a>&b ../f",
        "cat > a ../f | wc",
        "v=in; v=../f && echo > $v",
        "cd .. && echo > f",
        "cd .. too many; touch ../f",
        "printf -v'a[$(touch ../f)]' x",
        "cat <<E1\n$((cd .. && touch f)\n)\nE1",
        "tar cf- ../f README.md",
        "exec {fd}<>../f",
        "cat <<E1 && touch ../f\na\nE1",
        "cat <<E1\na\nE\\\n1\ntouch ../f",
        "set -- a\n\\touch {../f,b}",
        "bash <<E1\n\\$(touch ../f)\nE1",
        "bash <<'E1'\n\\touch ../f\nE1",
        "cat <<E1 && touch ../f\n\\a\nE1",
        "cat <<E1\n\\a\n$(touch ../f)\nE1",
    ],
)
def test_the_path_is_found_all_the_same(command: str) -> None:
    assert "/home/u/f" in {path for path, _ in outside(command)}


@each(
    "command",
    [
        "cat <<E1\n\\$(touch ../f)\nE1",
        "cat <<E1\n\\`touch ../f\\`\nE1",
        "cat <<'E1'\n\\a $(touch ../f)\nE1",
        "cat <<-E1\n\t\\../f\n\tE1",
        "cat > a.tex <<'E1'\n\\input{../f}\n\\input ../f\nE1",
    ],
)
def test_a_document_that_begins_with_a_backslash_is_text(command: str) -> None:
    scan = scanned(command)
    assert (scan.parsed, scan.opaque, outside(command), len(scan.commands)) == (True, False, set(), 1)


@each(
    "command",
    [
        "set -- a ../f; while x; do rm $1; shift; done",
        "set -- a ../f; shift $n; rm $1",
        "set -- a; shift 99999999999999; rm $1",
        "shift; rm $1",
        "v=a; time v=../f; rm $v",
        "v=../f; \\time v=a; rm $v",
        "v=../f; env time v=a; rm $v",
    ],
)
def test_what_may_have_another_value_is_unknown(command: str) -> None:
    assert scanned(command).opaque


@pytest.mark.parametrize(
    "command",
    [
        "echo a > '../'f$21",
        "time function g { touch ../f; }; g",
        "{a,b}# > ../f",
        'awk \'BEGIN { print > "../" "f" }\'',
        "cat <<E1; touch ../f\na\nE1",
    ],
)
def test_what_stays_doubtful_is_opaque(command: str) -> None:
    assert scanned(command).opaque
