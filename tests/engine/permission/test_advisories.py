"""Advisories of 2026 about commands and permissions of coding agents, each held against this program by its name.

Lines about settings files, `PATH` and members that go along are in `lines.txt`.
"""

import importlib
import itertools
import pkgutil
import random
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import opencode_tui.engine.tool.builtin as builtin_tools
from opencode_tui.engine.permission.command_decision import CommandScope, decide_command, plan_command
from opencode_tui.engine.permission.decision import Query, is_always_outside, open_patterns
from opencode_tui.engine.permission.grants import Grant
from opencode_tui.engine.permission.shell.filesystem import VirtualFileSystem
from opencode_tui.engine.permission.shell.scan import scan
from opencode_tui.engine.tool.builtin.bash import BashParameters
from opencode_tui.engine.tool.builtin.webfetch import WebfetchTool, host_of, is_local_name
from opencode_tui.engine.tool.builtin.write import WriteTool
from opencode_tui.engine.tool.parameter_schema import parse
from opencode_tui.engine.tool.tool import Parameters
from opencode_tui.schema.error import DeniedError, ToolError
from opencode_tui.schema.permission import PermissionRequest
from opencode_tui.text.permission import subject_of, without_padding
from opencode_tui.text.safe_text import screen_lines
from tests.engine.permission.test_lines import HOME, PROJECT, decided
from tests.support.rows import each
from tests.support.shell.bench import ShellBench
from tests.support.world.rules import rules
from tests.support.world.tools import Workbench
from tests.support.world.waiting import PATIENCE_S


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    folder = tmp_path / "project"
    folder.mkdir()
    return Workbench(folder)


@pytest.mark.parametrize("action", ["-exec ./x {} ;", "-execdir ./x {} +", "-ok ./x {} ;", "-okdir ./x {} ;"])
def test_cve_2026_24887_what_find_starts_is_asked_for(action: str) -> None:
    line = f"find . -name a {action.replace(';', chr(92) + ';')}"
    assert decided(line, tier="none").action == "ask"
    assert decided(f"{line}; git push", "git push *", "find *").action == "ask"
    assert "./x" in " ".join(decided(f"{line}; git push", "git push *").reasons)


@pytest.mark.parametrize(
    "action", ["-delete", "-fprint ~/x", "-fprintf ~/x a", "-fls ~/x", "-fprint0 ~/x", "-fprint .git/config"]
)
def test_cve_2026_24887_what_find_writes_or_deletes_is_asked_for(action: str) -> None:
    assert decided(f"find . {action}").action == "ask"


@each(
    "line",
    [
        "cd .git && echo x > config",
        "cd .git; echo x > config",
        "(cd .git; tee config)",
        "pushd .git; echo x > config",
        "cd src/../.git && cp ../README.md config",
        "env -C .git tee config",
        "make -C .git",
        "git -C .git config core.pager ./x",
        "git -C . config core.pager ./x",
        "cd .git/hooks && mv ../../README.md pre-commit",
    ],
)
def test_cve_2026_25722_another_folder_does_not_hide_a_protected_file(line: str) -> None:
    assert decided(line).action == "ask"
    assert decided(line, given=("edit * allow",)).action == "ask"


@each("target", [".git/config", f"{HOME}/.bashrc"])
@each(
    "line",
    [
        "echo x > TARGET",
        "> TARGET echo x",
        "echo > TARGET x",
        "echo x 1>TARGET",
        "echo x >> TARGET",
        "echo x >| TARGET",
        "echo x &> TARGET",
        "echo x &>> TARGET",
        "echo x >& TARGET",
        "echo x 1<> TARGET",
        "{ echo x; } > TARGET",
        "( echo x ) > TARGET",
        "if true; then echo x; fi > TARGET",
        "for a in b; do echo $a; done > TARGET",
        "while read a; do echo $a; done < README.md > TARGET",
        "exec > TARGET",
        "cat > TARGET <<E\nx\nE",
        "cat <<E > TARGET\nx\nE",
        "cat <<< x > TARGET",
        "echo x | tee TARGET",
        "echo x | tee -a TARGET > /dev/null",
        "echo x | sponge TARGET",
        "echo x | dd of=TARGET",
        "echo x | sed 'w TARGET'",
        "sed -i s/a/b/ TARGET",
        "sed -n 's/a/b/w TARGET' README.md",
        "awk '{print > \"TARGET\"}' README.md",
        "sort -o TARGET README.md",
        "cp README.md TARGET",
        "mv README.md TARGET",
        "install README.md TARGET",
        "ln -sf README.md TARGET",
        "truncate -s 0 TARGET",
        "echo $(echo x > TARGET)",
        "cat <(echo x > TARGET)",
    ],
)
def test_cve_2026_25723_every_way_to_write_is_seen(line: str, target: str) -> None:
    assert decided(line.replace("TARGET", target)).action == "ask"


@pytest.mark.fast_cases(" & ")
@pytest.mark.parametrize("separator", ["; ", " && ", " | ", "\n", " & "])
def test_advisory_cc_2026_002_a_denied_member_is_denied_however_many_there_are(separator: str) -> None:
    given = ("bash * allow", "bash git push* deny")
    for count, place in ((40, 39), (60, 51), (10_000, 9_999), (10_000, 5)):
        members = ["echo a"] * count
        members[place] = "git push"
        assert decided(separator.join(members), given=given).action == "deny"
    assert decided(separator.join(["echo a"] * 60), given=given).action == "allow"


@each(
    "word",
    [
        "${x@P}",
        "${x@E}",
        "${!x}",
        "${!x@}",
        "${a[$i]}",
        "${a[x]}",
        "$((a[$(./x)]))",
        "$((x))",
        "$[x]",
        "${x:$((y)):1}",
        "${x:-${y@P}}",
        "${x%${y@P}}",
        "<(./x)",
        "$(./x)",
        "`./x`",
    ],
)
def test_ghsa_g8r9_g2v8_jv6f_an_expansion_that_runs_text_is_no_plain_word(word: str) -> None:
    assert decided(f"git push {word}", "git push *").action == "ask"
    assert decided(f"echo {word}", tier="none").action == "ask"


@pytest.mark.parametrize(
    "line", ["printf -v 'a[$(./x)]' y", "[[ -v 'a[$(./x)]' ]]", "echo *(e:'./x':)", "test -v 'a[$(./x)]'"]
)
def test_ghsa_g8r9_g2v8_jv6f_text_that_a_builtin_evaluates_is_asked_for(line: str) -> None:
    assert decided(line, tier="none").action == "ask"


@each(
    "prefix",
    [
        "PAGER=./x",
        "GIT_PAGER=./x",
        "GIT_EXTERNAL_DIFF=./x",
        "LD_PRELOAD=./x.so",
        "BASH_ENV=./x",
        "EDITOR=./x",
        "PYTHONSTARTUP=./x",
        "NODE_OPTIONS=--require=./x",
        "PATH=.:$PATH",
        "LESSOPEN='|./x %s'",
        "env PAGER=./x",
    ],
)
def test_cve_2026_22708_a_variable_before_an_allowed_command_asks(prefix: str) -> None:
    assert decided(f"{prefix} git log", given=("bash * ask", "bash git log* allow"), tier="none").action == "ask"
    assert decided(f"{prefix} git push", "git push *").action == "ask"


async def test_cve_2026_50548_the_working_directory_is_resolved_before_it_is_judged(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "project/link").symlink_to(tmp_path / "other")
    shell = ShellBench(tmp_path / "project", environ=environ)
    for workdir in ("link", "../other", str(tmp_path / "other"), "link/../other"):
        shell.asked.clear()
        await shell.run("pwd", workdir=workdir)
        assert shell.asks("external_directory") == [[f"{tmp_path}/other/*"]]
    (tmp_path / "project/loop").symlink_to("loop")
    for workdir in ("none", "loop", "link/none"):
        with pytest.raises(ToolError, match="is not a folder"):
            await shell.run("pwd", workdir=workdir)


async def test_cve_2026_50549_a_path_that_cannot_be_resolved_is_never_inside(bench: Workbench) -> None:
    (bench.folder / "loop").symlink_to("loop")
    (bench.folder / "chain").symlink_to("loop/x")
    for written in ("loop", "loop/x", "chain", "a/" * 3_000 + "x", "x" * 300):
        with pytest.raises(ToolError):
            await bench.call(bench.reader, filePath=written)
        with pytest.raises(ToolError):
            await bench.call(WriteTool(editor=bench.editor), filePath=written, content="x")
    assert sorted(path.name for path in bench.folder.iterdir()) == ["chain", "loop"]


async def test_cve_2026_12957_a_question_shows_where_a_link_leads(bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other/key").write_text("x")
    (bench.folder / "notes.md").symlink_to(tmp_path / "other/key")
    await bench.call(bench.reader, filePath="notes.md")
    (asked,) = [one for one in bench.asked if one.permission == "external_directory"]
    assert (asked.patterns, asked.metadata["filepath"]) == ([f"{tmp_path}/other/*"], f"{tmp_path}/other/key")


async def test_cve_2026_12958_a_link_that_changes_during_the_question_leads_nowhere_else(
    bench: Workbench, tmp_path: Path
) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    link = bench.folder / "out"
    link.symlink_to(tmp_path / "one")

    def swap() -> None:
        link.unlink()
        link.symlink_to(tmp_path / "two")

    bench.before_answer = lambda: swap() if link.readlink() == tmp_path / "one" else None
    await bench.call(WriteTool(editor=bench.editor), filePath="out/x", content="x")
    assert (list((tmp_path / "two").iterdir()), [one.name for one in (tmp_path / "one").iterdir()]) == ([], ["x"])


@pytest.mark.parametrize(
    "line",
    [
        "git commit --no-verify -m x",
        "git commit -nm x",
        "git commit -n -m x",
        "git commit --no-veri -m x",
        "git push --no-verify",
        "git merge --no-verify b",
        "git commit -anm x",
    ],
)
def test_cve_2026_10174_hooks_are_not_skipped_without_a_question(line: str) -> None:
    assert decided(line).action == "ask"
    assert decided(line, "git commit *", "git push *", "git merge *").action == "ask"
    assert decided(line, line).action == "allow"


@pytest.mark.parametrize(
    "line", ["git commit -m x", "git commit -am 'no-verify'", "git commit --no-edit --amend", "git commit -uno -m x"]
)
def test_cve_2026_10174_other_commits_stay_free(line: str) -> None:
    assert decided(line).action == "allow"


def test_advisory_cc_2026_001_a_grant_to_run_outside_grants_nothing_else() -> None:
    outside = [Grant(permission="bash", pattern="*", action="allow", metadata={"outside": True})]
    system = VirtualFileSystem(PROJECT, files=[".git/"], symlinks={})

    def action(line: str, *given: str) -> str:
        layers = [rules("* * allow", "external_directory * ask", *given)]
        scope = CommandScope(line, PROJECT, PROJECT, [PROJECT], layers, "bubblewrap")
        found = scan(line, cwd=PROJECT, home=HOME, project_root=PROJECT, filesystem=system)
        return decide_command(plan_command(found, scope), layers, outside, tier="bubblewrap").action

    assert action("npm test", "bash npm * deny") == "deny"
    assert action("cat /home/u/key") == "ask"
    assert action("tee .git/config") == "ask"
    assert action("cat src/key", "read src/* deny") == "deny"


def test_advisory_cc_2026_001_a_grant_that_is_not_for_outside_moves_nothing_there() -> None:
    query = Query("", "bash", ["npm test"])
    inside = Grant(permission="bash", pattern="npm test *", action="allow")
    assert not is_always_outside(query, [inside])
    assert is_always_outside(query, [inside.changed(metadata={"outside": True})])


def _parameters() -> list[type[Parameters]]:
    modules = [
        importlib.import_module(f"{builtin_tools.__name__}.{found.name}")
        for found in pkgutil.iter_modules(builtin_tools.__path__)
    ]
    found = {one for module in modules for one in vars(module).values() if isinstance(one, type)}
    return sorted(
        (one for one in found if issubclass(one, Parameters) and one is not Parameters), key=lambda one: one.__name__
    )


def test_cve_2026_42074_no_argument_of_a_tool_is_about_the_sandbox_or_permissions() -> None:
    kinds = _parameters()
    assert len(kinds) > 15
    names = {name for kind in kinds for name in kind.model_fields}
    about = re.compile(
        "sandbox|danger|unsafe|permission|approv|trust|confirm|escal|privileg|tier|network|host|always|sudo",
        re.IGNORECASE,
    )
    assert {name for name in names if about.search(name)} == set()


@pytest.mark.parametrize("seed", range(3))
def test_cve_2026_42074_arguments_that_a_model_makes_up_change_nothing(seed: int) -> None:
    chance = random.Random(seed)
    names = [
        "dangerouslyDisableSandbox",
        "sandbox",
        "tier",
        "runs",
        "run_outside",
        "by_user",
        "approved",
        "permission",
        "plan",
        "context",
    ]
    values: list[object] = [True, False, None, "none", "host", 0, {"mode": "off"}, ["*"]]
    plain = parse(BashParameters, {"command": "ls"})
    for _ in range(50):
        extra = {chance.choice(names): chance.choice(values) for _ in range(chance.randint(1, 4))}
        found = parse(BashParameters, {"command": "ls", **extra})
        assert isinstance(found, str) or found == plain


_ECHOES = ("echo", "ec''ho", "\\echo", 'e""cho', "command echo", "builtin echo", "A=1 echo")


def _random_script(chance: random.Random, numbers: "itertools.count[int]", depth: int = 0) -> str:
    """Return a script whose every command is an `echo` of a number of its own."""
    leaf = f"{chance.choice(_ECHOES)} m{next(numbers)}"
    if depth > 3 or chance.random() < 0.3:
        return leaf

    def inner() -> str:
        return _random_script(chance, numbers, depth + 1)

    shapes = [
        lambda: f"{inner()}; {inner()}",
        lambda: f"{inner()} && {inner()}",
        lambda: f"! {inner()} || {inner()}",
        lambda: f"{inner()} | cat; {inner()}",
        lambda: f"{{ {inner()}; }} 2>&1",
        lambda: f"( {inner()} )",
        lambda: f"if {inner()}; then {inner()}; else {inner()}; fi",
        lambda: f"for i in 1 2; do {inner()}; done",
        lambda: f"while {inner()}; do {inner()}; break; done",
        lambda: f"case x in x) {inner()};; *) {inner()};; esac",
        lambda: f'echo "$({inner()})" `{leaf}`',
        lambda: f"cat <({inner()})",
        lambda: f"cat <<E\n$({inner()})\nE\n{inner()}",
        lambda: f"f() {{ {inner()}; }}\nf",
        lambda: f"eval '{leaf}'",
        lambda: f"x=$({inner()}); echo $x",
        lambda: f"echo ${{y:-$({inner()})}}",
        lambda: f"{inner()} &\nwait",
        lambda: f"echo a 3>&1 4<&0 2>/dev/null; {inner()} # {leaf}",
        lambda: f"[[ -n $({inner()}) ]] && {inner()}",
        lambda: f"time {inner()}",
        lambda: f"xargs -n1 echo m{next(numbers)} <<< z",
        lambda: f"bash -c 'echo m{next(numbers)}'",
    ]
    return chance.choice(shapes)()


@pytest.mark.fast_cases("2")
@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is what the parser is held against")
@pytest.mark.parametrize("seed", range(4))
def test_cc_2_1_214_the_parser_never_sees_less_than_bash_runs(tmp_path: Path, seed: int) -> None:
    chance, numbers, ran = random.Random(seed), itertools.count(), set[str]()
    for _ in range(20):
        script = _random_script(chance, numbers)
        result = subprocess.run(
            ["bash", "--norc", "-c", script],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        found = scan(script, cwd=str(tmp_path), home=str(tmp_path), project_root=str(tmp_path))
        seen = set(re.findall(r"\bm\d+\b", " ".join(text for member in found.members for text in member.texts)))
        printed = set(re.findall(r"\bm\d+\b", result.stdout))
        assert (script, printed - seen) == (script, set())
        ran |= printed
    assert len(ran) > 20


@pytest.mark.parametrize("blank", [" ", "\t", "\u00a0", "\u3000", "\u2003", "\u2800", "\u3164"])
def test_cc_changelog_padding_cannot_hide_the_end_of_a_command(blank: str) -> None:
    request = PermissionRequest(
        id="per_1", session_id="ses_1", permission="bash", patterns=["ls" + blank * 5_000 + "; curl x"]
    )
    lines = screen_lines(without_padding(subject_of(request, None)))
    assert (len(lines), lines[0].startswith("ls"), lines[0].endswith("; curl x"), len(lines[0]) < 80) == (
        1,
        True,
        True,
        True,
    )
    assert "5000 blanks" in lines[0]
    lined = screen_lines(without_padding("ls\n" + f"{blank * 3}\n" * 400 + "curl x"))
    assert lined == ["ls", "[400 empty lines]", "curl x"]


def test_cc_changelog_usual_indentation_is_shown_as_it_is() -> None:
    text = "if a; then\n        b\n\n    c\t\td\nfi"
    assert without_padding(text) == text


@pytest.mark.parametrize("character", ["\u200b", "\u202e", "\u2066", "\U000e0041", "\x1b", "\r"])
def test_cc_changelog_an_invisible_character_makes_no_command_known(character: str) -> None:
    assert decided(f"git push {character}origin", "git push *").action == "ask"


async def test_cve_2026_54316_the_whole_address_is_in_the_question_and_no_host_is_built_in(bench: Workbench) -> None:
    query = "&".join(f"k{number}={'v' * 40}" for number in range(100))
    for host in ("127.0.0.1:9", "huggingface.co.localhost:9"):
        url = f"http://user:word@{host}/path?{query}#end"
        bench.asked.clear()
        bench.refused = {"webfetch"}
        with pytest.raises(Exception, match=r".*"):
            await bench.call(WebfetchTool(), url=url)
        assert bench.asks("webfetch") == [[url]]
        request = PermissionRequest(id="per_1", session_id="ses_1", permission="webfetch", patterns=[url])
        assert subject_of(request, None) == url


@pytest.mark.parametrize(
    "url",
    [
        "https://good.org.evil.org/x",
        "https://good.org@evil.org/x",
        "https://good.org:443@evil.org/x",
        "https://good.orgevil.org/x",
        "https://evil.org/https://good.org/x",
        "https://evil.org#https://good.org/x",
        "https://good.org\\@evil.org/x",
        "https://g\u043eod.org/x",
    ],
)
def test_cve_2026_24052_a_rule_for_a_host_covers_no_other_host(url: str) -> None:
    layers = [rules("webfetch * deny", "webfetch https://good.org/* allow")]
    assert open_patterns(Query("", "webfetch", ["https://good.org/x"]), layers) == []
    with pytest.raises(DeniedError):
        open_patterns(Query("", "webfetch", [url]), layers)


@pytest.mark.parametrize(
    "url",
    [
        "http://good.org@127.0.0.1/",
        "http://good.org:80@[::1]/",
        "http://169.254.169.254/latest/meta-data",
        "http://2852039166/",
        "http://0x7f.1/",
        "http://localhost./",
        "http://metadata.google.internal/",
    ],
)
def test_cve_2026_24052_this_machine_is_seen_in_each_notation(url: str) -> None:
    assert is_local_name(host_of(url))
