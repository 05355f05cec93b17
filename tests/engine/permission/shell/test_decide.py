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
        ("echo ${x#$(rm x)}", ["bash * allow", "bash rm * deny"], "deny"),
        ("[[ a == ${x/a/`rm x`} ]]", ["bash * allow", "bash rm * deny"], "deny"),
        ("echo ${x#$(evil)}", ["bash * ask", "bash echo * allow"], "ask"),
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
        ("", ["bash * allow"], "allow"),
        ("x=1", ["bash * allow"], "allow"),
        ("x=(a b c)", ["bash * allow"], "allow"),
        ("x=1", ["bash * ask"], "ask"),
        ("x=$(rm y)", ["bash * allow", "bash rm * deny"], "deny"),
        ("ls 'open", ["bash * allow"], "ask"),
        ("cat /etc/passwd 'open", ["bash * allow"], "ask-external"),
        ("rm x 'open", ["bash * allow", "bash rm * deny"], "deny"),
    ],
)
def test_decisions(command: str, given: list[str], decision: str) -> None:
    assert decide(scanned(command), command, PROJECT, PROJECT, rules(*BASE, *given)) == decision


@each(
    "spelling",
    [
        "{} 2>&1",
        "{} > log",
        "{} >> log 2>&1",
        "{} >| log",
        "{} &> log",
        "{} < /dev/null",
        "{} 3<> x",
        "{} <&-",
        "{} {{fd}}> x",
        "{} > $x",
        "{} <<< x",
        "{} <<E\nx\nE",
        "2>&1 {}",
        "{} 2>&1 | tail -1",
        "{} 2>&1 # comment",
        "{} > log &",
        "({} 2>&1)",
        "{{ {}; }} 2>&1",
        "x=$({} 2>&1)",
        "if {} 2>&1; then ls; fi",
        "for i in 1 2; do {} > log; done",
        "! {} 2>&1",
        "time {} 2>&1",
        "A=1 {} 2>&1",
        "A=$x {}",
        "env A=1 {} > log",
        "nohup {} > log &",
        "exec {} > log",
        "bash -c '{} 2>&1'",
        "f() {{ {} 2>&1; }}; f",
        "E=; {} $E",
        "{} {{,}}",
        "{} > 'a b'",
        "ls a\n\\{}",
        "ls &&\n  \\{}",
        "# comment\n\t\\{}",
    ],
)
def test_a_rule_against_a_command_holds_for_each_spelling_of_it(spelling: str) -> None:
    line = spelling.format("npm run deploy")
    for action in ("deny", "ask"):
        assert (
            decide(scanned(line), line, PROJECT, PROJECT, rules(*BASE, "bash * allow", f"bash npm run deploy {action}"))
            == action
        )


@each(
    ("command", "rule"),
    [
        ("npm\trun  deploy > log", "npm run deploy"),
        ("npm run de\\\nploy 2>&1", "npm run deploy"),
        ("npm 2>&1 run deploy", "npm run deploy"),
        ("x=deploy; npm run $x 2>&1", "npm run deploy"),
        ("git push origin --force 2>&1", "git push * --force"),
        ('git push $x "--force"', "git push * --force"),
        ("git push $x --force 2>&1", "git push * --force"),
        ("./deploy.sh 2>&1", "*deploy.sh"),
        ("'./deploy.sh' > log", "*deploy.sh"),
        ("r''m $x", "rm *"),
        ("\\rm $x", "rm *"),
        ("rm  -f $x", "rm -f *"),
        ("A=1 rm $x", "rm *"),
        ("/bin/rm $x", "rm *"),
        ("env /bin/rm x", "rm *"),
        ("timeout 3 /bin/rm $x > y", "rm *"),
        ("//bin/rm x", "rm *"),
        ("/usr/../bin/./rm x", "rm *"),
        ("~/../../bin/rm x", "rm *"),
        ("x=rm; $x $y", "rm *"),
        ("bash -c 'r\"\"m $x'", "rm *"),
    ],
)
def test_a_rule_holds_however_quotes_blanks_paths_and_unknown_words_hide_the_command(command: str, rule: str) -> None:
    assert (
        decide(scanned(command), command, PROJECT, PROJECT, rules(*BASE, "bash * allow", f"bash {rule} deny")) == "deny"
    )


@each(
    ("command", "rule"),
    [
        ("npm test > log", "npm test *"),
        ("npm test 2>&1 | npm test", "npm test*"),
        ("npm test $x", "npm test $x"),
        ('echo "$x"', "echo *"),
        ('echo "a b" $x > log', "echo *"),
        ("npm test", "npm test"),
        ("npm test 3> log", "npm test *"),
        ("npm test <<< $x", "npm test *"),
    ],
)
def test_a_rule_that_allows_a_kind_covers_its_redirections_and_unknown_words(command: str, rule: str) -> None:
    assert (
        decide(scanned(command), command, PROJECT, PROJECT, rules(*BASE, "bash * ask", f"bash {rule} allow")) == "allow"
    )
