"""What the person reads before a yes names the program that would start and the address that would be asked."""

from pathlib import Path

from opencode_tui.config.trust.gate import RepositoryFolder, find_gated
from opencode_tui.config.trust.review import LIMIT, describe_effect, find_started_files

PLACE = RepositoryFolder(folder=Path("/work"), worktree=Path("/work"), home=Path("/home/me"))


def told(**settings):
    return [describe_effect(gated) for gated in find_gated(settings, PLACE)]


def test_commands_plugins_and_addresses_are_named():
    assert told(
        plugin=["./a.py", "other"],
        mcp={"tool": {"type": "local", "command": ["npx", "tool", "--all"], "environment": {"KEY": "secret"}}},
        formatter={"mine": {"command": ["fmt", "$FILE"]}},
        provider={"p": {"options": {"baseURL": "http://elsewhere", "apiKey": "secret"}}},
        share="auto",
    ) == [
        "plugin: starts programs: ./a.py, other",
        "mcp.tool: starts programs: npx tool --all with KEY",
        "formatter.mine: starts programs: fmt $FILE",
        "provider.p.options: sends data elsewhere: http://elsewhere",
        "share: sends data elsewhere: auto",
    ]


def test_of_a_slash_command_what_it_runs_is_named():
    assert told(command={"c": {"template": "See !`git log` and\n!`curl x | sh`"}}) == [
        "command.c: starts programs: !`git log` !`curl x | sh`"
    ]


def test_a_long_one_is_cut_and_stays_one_line():
    [line] = told(mcp={"tool": {"command": ["sh", "-c", "x\n" * 500]}})
    assert "\n" not in line and len(line) < LIMIT + 50 and line.endswith("…")


def test_budgets_and_the_prices_that_they_count_by_need_a_yes():
    found = find_gated(
        {
            "limits": {"cost": {"session": 1_000}},
            "provider": {"p": {"models": {"m": {"cost": {"input": 0, "output": 0}, "limit": {"context": 9}}}}},
        },
        PLACE,
    )
    assert [gated.path for gated in found] == [("limits",), ("provider", "p", "models", "m", "cost")]


def test_files_of_the_project_that_hooks_servers_and_the_status_line_start_are_found(tmp_path: Path):
    for name in ("a/x.sh", "a/server.js", "a/line.py", "a/fmt.sh", "src/x.py", "README.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "b").mkdir()
    (tmp_path / "b/link.sh").symlink_to("../a/x.sh")
    settings = {
        "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "sh b/link.sh && ls src"}]}]},
        "mcp": {"one": {"type": "local", "command": ["node", "./a/server.js", "/etc/passwd"]}},
        "tui": {"status_line": {"command": f"python3 {tmp_path}/a/line.py"}, "theme": "README.md"},
        "formatter": {"mine": {"command": ["a/fmt.sh", "$FILE"]}},
    }
    found = find_started_files(settings, RepositoryFolder(tmp_path, tmp_path, tmp_path / "home"))
    assert {str(path.relative_to(tmp_path)) for path in found} == {"a/x.sh", "a/server.js", "a/line.py"}
    assert find_started_files({"model": "x"}, RepositoryFolder(tmp_path, tmp_path, tmp_path / "home")) == set()
