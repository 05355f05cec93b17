"""The most restrictive member decides; what is unknown is allowed by rules of the user only."""

from opencode_tui.cli.commands.debug.bash_scan import decide
from tests.support.rows import each
from tests.support.shell.world import PROJECT, scanned
from tests.support.world.rules import rules

BASE = ("external_directory * ask", "read * allow", "read *.env ask", "edit * allow")


@each(
    ("command", "given", "decision"),
    [
        ("ls", ["bash * ask"], "ask"),
        ("ls", ["bash * allow"], "allow"),
        ("ls; rm x", ["bash * allow", "bash rm * deny"], "deny"),
        ("rm\tx", ["bash * allow", "bash rm * deny"], "deny"),
        ("r''m x", ["bash * allow", "bash rm * deny"], "deny"),
        ("/bin/rm x", ["bash * allow", "bash rm * deny"], "deny"),
        ("env rm x", ["bash * allow", "bash rm * deny"], "deny"),
        ("echo $(rm x)", ["bash * allow", "bash rm * deny"], "deny"),
        ("rm x", ["bash rm * deny", "bash * allow"], "allow"),
        ("npm test\nevil", ["bash * ask", "bash npm test* allow"], "ask"),
        ("echo $(evil)", ["bash * ask", "bash echo * allow"], "ask"),
        ("ls /etc", ["bash * allow"], "ask-external"),
        ("ls /etc; rm x", ["bash * allow", "bash rm * deny"], "deny"),
        ("ls /etc", ["bash * allow", "external_directory /etc/* allow"], "ask-external"),
        ("cat /etc/x", ["bash * allow", "external_directory /etc/* allow"], "allow"),
        ("cat /etc/x", ["bash * allow", "external_directory /etc/* deny"], "deny"),
        ("cat .env", ["bash * allow"], "ask"),
        ("cat .env", ["bash * allow", "read *.env allow"], "allow"),
        ("cat .env", ["bash * allow", "read *.env deny"], "deny"),
        ("echo x > .git/hooks/y", ["bash * allow"], "ask"),
        ("rm $x", ["bash * allow"], "allow"),
        ("rm $x", ["bash * ask", "bash rm $x allow"], "allow"),
        ("make", ["bash * allow", "bash make allow"], "allow"),
        ("cd src", ["bash * ask"], "allow"),
        ("cd ..", ["bash * allow"], "ask-external"),
        ("", ["bash * allow"], "ask"),
        ("x=1", ["bash * allow"], "ask"),
        ("ls 'open", ["bash * allow"], "ask"),
        ("cat /etc/passwd 'open", ["bash * allow"], "ask-external"),
        ("rm x 'open", ["bash * allow", "bash rm * deny"], "deny"),
    ],
)
def test_decisions(command: str, given: list[str], decision: str) -> None:
    assert decide(scanned(command), command, PROJECT, PROJECT, rules(*BASE, *given)) == decision
