"""Claims about the bash tool: docs/internals/tools.md#bash."""

import asyncio
import time
from pathlib import Path

import pytest

from opencode_tui.engine.tool.tool import ToolResult
from opencode_tui.schema.error import RejectedError, ToolError
from tests.support.shell.bench import ShellBench
from tests.support.world.waiting import PATIENCE_S


@pytest.fixture
def shell(tmp_path: Path, environ: dict[str, str]) -> ShellBench:
    folder = tmp_path / "project"
    folder.mkdir()
    return ShellBench(folder, environ=environ)


async def test_a_result_has_output_exit_code_and_description(shell: ShellBench) -> None:
    assert await shell.run("echo hi; echo there >&2", description="Says hi") == ToolResult(
        title="Says hi",
        output="hi\nthere\n",
        metadata={"output": "hi\nthere\n", "exit": 0, "description": "Says hi", "truncated": False}
        | {"sandbox": {"runs": "host", "tier": "none"}},
    )


@pytest.mark.parametrize(
    ("command", "code"), [("exit 3", 3), ("false", 1), ("kill -9 $$", 137), ("nosuchprogram", 127)]
)
async def test_an_exit_code_is_reported_and_no_error(shell: ShellBench, command: str, code: int) -> None:
    result = await shell.run(command)
    assert result.metadata["exit"] == code
    assert f"<bash_metadata>\nExit code {code}.\n</bash_metadata>" in result.output


async def test_without_a_description_the_command_is_the_title(shell: ShellBench) -> None:
    assert (await shell.run("echo a\necho b", description="")).title == "echo a"


async def test_it_runs_in_the_project_or_in_workdir(shell: ShellBench) -> None:
    (shell.folder / "sub").mkdir()
    here, there = await shell.run("pwd"), await shell.run("pwd", workdir="sub")
    assert (here.output, there.output) == (f"{shell.folder}\n", f"{shell.folder}/sub\n")


@pytest.mark.parametrize(
    ("command", "more", "reason"),
    [
        ("pwd", {"workdir": "absent"}, "workdir 'absent' is not a folder"),
        ("pwd", {"timeout": -1}, "timeout is -1"),
        ("  ", {}, "command is empty"),
        ("echo \0", {}, "NUL"),
        (f"echo {'x' * 200_000}", {}, "the command or its environment is too long"),
    ],
)
async def test_what_cannot_run_is_an_error_for_the_model(
    shell: ShellBench, command: str, more: dict[str, object], reason: str
) -> None:
    with pytest.raises(ToolError, match=reason):
        await shell.run(command, **more)


async def test_a_time_limit_below_a_second_is_one_in_seconds(shell: ShellBench) -> None:
    assert (await shell.run("sleep 0.2; echo done", timeout=60)).metadata["exit"] == 0
    assert "timeout of 100 ms" in (await shell.run("sleep 60", timeout_ms=100)).output


@pytest.mark.slow
async def test_a_timeout_is_reported_with_the_output_so_far(shell: ShellBench) -> None:
    result = await shell.run("echo begun; sleep 60", timeout=1000)
    assert result.output == (
        "begun\n\n<bash_metadata>\n"
        "Stopped after its timeout of 1000 ms; give a longer one if it needs it (at most 600000), "
        "or run a server or watcher with background.\n</bash_metadata>"
    )


async def test_commands_get_the_users_variables_but_not_our_password(shell: ShellBench) -> None:
    shell.environ.update(TOKEN_OF_MINE="kept", OPENCODE_SERVER_PASSWORD="secret")
    result = await shell.run("env")
    assert "TOKEN_OF_MINE=kept" in result.output
    assert "secret" not in result.output


async def test_standard_input_is_empty(shell: ShellBench) -> None:
    assert (await shell.run("cat; read -r line || echo none")).output == "none\n"


async def test_output_shows_while_the_command_runs(shell: ShellBench) -> None:
    task = asyncio.create_task(shell.run("echo early; sleep 60"))
    async with asyncio.timeout(PATIENCE_S):
        while not any(facts["output"] for facts in shell.shown):
            await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert shell.shown[0] == {"output": "", "description": "Tries something"}
    assert shell.shown[-1] == {"output": "early\n", "description": "Tries something"}


@pytest.mark.slow
async def test_the_screen_is_updated_at_most_15_times_a_second(shell: ShellBench) -> None:
    begin = time.monotonic()
    await shell.run("for i in $(seq 200); do echo $i; sleep 0.002; done")
    assert 2 <= len(shell.shown) <= 1 + 15 * (time.monotonic() - begin)


async def test_many_lines_are_cut_in_the_middle_and_kept_in_a_file(shell: ShellBench) -> None:
    result = await shell.run("seq 2500")
    assert result.metadata["truncated"] is True
    assert result.output.startswith("1\n2\n3\n")
    assert "\n1000\n\n...500 lines truncated...\n\n1501\n" in result.output
    assert (
        f"\n2500\n\nThe call succeeded, but its output was too long. The full text is in {shell.full_texts[0]}"
        in result.output
    )
    assert result.metadata["outputPath"] == str(shell.full_texts[0])
    assert result.metadata["lines"] == {"total": 2500, "first": 1000, "last": 1000}
    assert shell.full_texts[0].read_text() == "".join(f"{number}\n" for number in range(1, 2501))
    assert shell.full_texts[0].stat().st_mode & 0o777 == 0o600


async def test_many_bytes_are_cut_too(shell: ShellBench) -> None:
    result = await shell.run("head -c 61440 /dev/zero | tr '\\0' x")
    assert "x\n\n...10240 bytes truncated...\n\nx" in result.output
    assert shell.full_texts[0].read_text() == "x" * 61_440
    assert len(result.metadata["output"]) <= 30_000


async def test_short_output_makes_no_file(shell: ShellBench) -> None:
    assert (await shell.run("seq 100")).metadata["truncated"] is False
    assert shell.full_texts == []


async def test_binary_output_becomes_text(shell: ShellBench) -> None:
    result = await shell.run("printf 'a\\0\\377\\xe4\\xbd\\xa0'")
    assert result.output == "a\ufffd\ufffd你"


async def test_one_question_for_all_members(shell: ShellBench) -> None:
    await shell.run("echo foo && echo bar")
    assert shell.asks("bash") == [["echo foo", "echo bar"]]
    assert [asked.permission for asked in shell.asked] == ["bash"]


@pytest.mark.parametrize(
    ("command", "always"),
    [("ls -la", ["ls *"]), ("git log --oneline -5", ["git log *"]), ("echo hello", ["echo *"])],
)
async def test_always_names_the_kind_of_command(shell: ShellBench, command: str, always: list[str]) -> None:
    await shell.run(command)
    assert [(asked.patterns, asked.always) for asked in shell.asked] == [([command], always)]


async def test_a_redirection_is_part_of_the_pattern(shell: ShellBench) -> None:
    await shell.run("echo x > out.txt")
    assert shell.asks("bash") == [["echo x > out.txt", "echo x"]]


async def test_entering_the_folder_itself_asks_nothing(shell: ShellBench) -> None:
    await shell.run("cd .")
    assert shell.asked == []


async def test_a_file_inside_asks_for_no_folder(shell: ShellBench) -> None:
    (shell.folder / "tmpfile").touch()
    await shell.run("rm tmpfile")
    assert shell.asks("external_directory") == []


async def test_folders_outside_are_asked_for_with_the_command(shell: ShellBench, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.txt").write_text("text")
    await shell.run(f"cat {outside}/a.txt")
    command, path = shell.asked
    assert (path.permission, path.patterns, path.always) == (
        "external_directory",
        [f"{outside}/*"],
        [f"{outside}/*"],
    )
    assert command.permission == "bash"


@pytest.mark.parametrize(("command", "more"), [("cd ../", {}), ("true", {"workdir": ".."})])
async def test_leaving_the_project_asks_for_the_folder(shell: ShellBench, command: str, more: dict[str, str]) -> None:
    await shell.run(command, **more)
    assert shell.asks("external_directory") == [[f"{shell.folder.parent}/*"]]


async def test_a_refused_folder_runs_nothing(shell: ShellBench) -> None:
    shell.refused = {"external_directory"}
    with pytest.raises(RejectedError):
        await shell.run("touch inside; cat /etc/hostname")
    assert list(shell.folder.iterdir()) == []


async def test_files_of_secrets_are_asked_for_as_reads(shell: ShellBench) -> None:
    (shell.folder / ".env").write_text("KEY=1")
    await shell.run("cat .env")
    assert shell.asks("read") == [[f"{shell.folder}/.env"]]


async def test_what_would_run_later_is_asked_for_by_name(shell: ShellBench) -> None:
    (shell.folder / ".git/hooks").mkdir(parents=True)
    await shell.run("echo true > .git/hooks/pre-commit")
    assert shell.asks("edit") == [[".git/hooks/pre-commit"]]
    assert shell.named == [".git/hooks/pre-commit"]


async def test_an_opaque_command_must_be_named(shell: ShellBench) -> None:
    await shell.run('echo a; eval "$UNKNOWN"')
    [asked] = shell.asked
    assert asked.metadata["opaque"] is True
    assert set(shell.named) <= set(asked.patterns)
    assert any("eval" in text for text in shell.named)
    assert [text for text in asked.always if "eval" in text and "*" in text] == []


async def test_known_commands_need_not_be_named(shell: ShellBench) -> None:
    await shell.run("echo a && ls")
    assert shell.named == []
    assert "opaque" not in shell.asked[0].metadata
    assert shell.asked[0].metadata["sandbox"]["reasons"] == []
