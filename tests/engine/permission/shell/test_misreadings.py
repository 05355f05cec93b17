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
    ],
)
def test_the_path_is_found_all_the_same(command: str) -> None:
    assert "/home/u/f" in {path for path, _ in outside(command)}


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
