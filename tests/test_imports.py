"""What is loaded when, and that importing does nothing else."""

import importlib.util
import json
import pkgutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

import opencode_tui
from opencode_tui.cli.main import DEFAULT_COMMAND, commands
from opencode_tui.engine.project.discover import discover
from opencode_tui.storage.paths import find_paths
from tests.support.faults.proxy import closed_port
from tests.support.provider.canned_server import CannedServer, answer_packets, provider
from tests.support.rows import each
from tests.support.world.repo import make_repo

HEAVY = (
    "litellm",
    "acp",
    "textual",
    "rich",
    "httpx",
    "git",
    "psutil",
    "yaml",
    "pydantic",
    "filelock",
    "platformdirs",
    "fastapi",
    "uvicorn",
)
REPORT = (
    "import json, sys, threading; print(json.dumps([sorted(sys.modules), threading.active_count()]), file=sys.stderr)"
)
OWN_PROCESS = ("opencode_tui.engine.provider.litellm_child", "opencode_tui.__main__")
"""Started as programs, not imported: the one is the only module that loads litellm."""

WITHOUT_DASK = () if importlib.util.find_spec("distributed") else ("opencode_tui.extras.dask.pool",)
"""What needs the optional dependency `cluster`."""

SCREEN = ("opencode_tui.tui", "opencode_tui.cli.commands.tui", "opencode_tui.extras.themes")
"""What draws the screen, what starts it, and what knows its colors: the only modules that load textual."""


@each("name", [*HEAVY, "click", *OWN_PROCESS, *SCREEN])
def test_the_modules_that_these_tests_name_exist(name: str) -> None:
    assert importlib.util.find_spec(name) is not None


def loaded_after(code: str, folder: Path, environ: dict[str, str]) -> tuple[set[str], int, str]:
    """Run code in a fresh interpreter and return its top-level modules, its number of threads, and its stdout."""
    root = str(Path(opencode_tui.__file__).parent.parent)
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{REPORT}"],
        cwd=folder,
        env={**environ, "PYTHONPATH": root, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    names, threads = json.loads(done.stderr.splitlines()[-1])
    return {name.partition(".")[0] for name in names}, threads, done.stdout


@pytest.mark.fast_cases("arguments1")
@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], ["auth", "--help"], ["run", "--help"], ["debug", "--help"]]
)
def test_help_and_version_load_nothing_heavy(tmp_path: Path, environ: dict[str, str], arguments: list[str]) -> None:
    code = f"from opencode_tui.cli.main import run_command_line as run; assert run({arguments!r}) == 0"
    if arguments == ["--version"]:
        code = f"import sys; sys.argv[1:] = {arguments!r}; from opencode_tui.__main__ import main; main()"
    names, _, _ = loaded_after(code, tmp_path, environ)
    assert names & set(HEAVY) <= {"filelock"}


@pytest.mark.slow
def test_the_help_of_a_command_loads_no_screen_and_no_client(tmp_path: Path, environ: dict[str, str]) -> None:
    names = [name for name in commands.list_commands(click.Context(commands)) if name != DEFAULT_COMMAND]
    code = f"from opencode_tui.cli.main import run_command_line as run; assert not any(run([name, '--help']) for name in {names!r})"
    loaded, _, stdout = loaded_after(code, tmp_path, environ)
    assert stdout.count("Usage: ") > 20  # `plugin` shows its page
    assert loaded & {"textual", "litellm", "acp", "distributed", "httpx", "httpcore", "git"} == set()


@pytest.mark.slow
def test_the_list_of_commands_loads_no_library_for_values(tmp_path: Path, environ: dict[str, str]) -> None:
    code = "from opencode_tui.cli.main import run_command_line as run; assert run(['--help']) == 0"
    assert "msgspec" not in loaded_after(code, tmp_path, environ)[0]


def test_version_does_not_load_click(tmp_path: Path, environ: dict[str, str]) -> None:
    code = "import sys; sys.argv[1:] = ['--version']; from opencode_tui.__main__ import main; main()"
    assert "click" not in loaded_after(code, tmp_path, environ)[0]


@pytest.mark.slow
def test_settings_without_markdown_load_no_yaml(tmp_path: Path, environ: dict[str, str]) -> None:
    code = "from opencode_tui.cli.main import run_command_line as run; assert run(['debug', 'config']) == 0"
    names, _, _ = loaded_after(code, tmp_path, environ)
    assert names & {"yaml", "httpx", "httpcore", "git", "litellm"} == set()


@pytest.mark.slow
def test_settings_load_no_records_of_sessions_and_permissions(tmp_path: Path, environ: dict[str, str]) -> None:
    code = "import sys, opencode_tui.config.load\nprint(sorted(n for n in sys.modules if n.startswith('opencode_tui.schema.')))"
    assert loaded_after(code, tmp_path, environ)[2].strip() == str(
        [
            f"opencode_tui.schema.{name}"
            for name in (
                "accept",
                "api",
                "api.keybinds",
                "api.theme",
                "error",
                "field",
                "ids",
                "json_text",
                "provider_formats",
                "record",
                "setting_defaults",
                "suggest",
                "system_error",
                "table",
                "tools",
            )
        ]
    )


@each("arguments", [["session", "list"], ["session", "list", "-n", "5"], ["session", "tree"], ["stats"]])
def test_lists_and_sums_load_no_engine(tmp_path: Path, environ: dict[str, str], arguments: list[str]) -> None:
    code = f"from opencode_tui.cli.main import run_command_line as run; assert run({arguments!r}) == 0"
    ours = "import sys\nprint(sorted(name for name in sys.modules if name.startswith('opencode_tui.engine.')))"
    names, _, stdout = loaded_after(f"{code}\n{ours}", make_repo(tmp_path / "project").path, environ)
    light = (
        "lazy",
        "project",
        "project.discover",
        "project.git",
        "project.git_causes",
        "project.git_entries",
        "project.git_reach",
        "project.opening",
        "project.projects",
        "project.repository",
        "snapshot",
        "snapshot.worktree_paths",
    )
    assert stdout.splitlines()[-1] == str([f"opencode_tui.engine.{name}" for name in light])
    assert names & set(HEAVY) == {"filelock"}


def test_the_look_for_servers_of_models_on_this_machine_loads_nothing_for_http_where_none_listens(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    code = "import asyncio\nfrom opencode_tui.engine.provider.local_servers import LocalServers\n"
    with closed_port() as port:
        code += f"print(asyncio.run(LocalServers({{}}, ports={{'ollama': {port}}}).refresh()))"
        names, _, stdout = loaded_after(code, tmp_path, environ)
    assert stdout.strip() == "[]"
    assert names & {"httpcore", "anyio", "h11"} == set()


@pytest.mark.slow
def test_importing_every_module_leaves_no_file_thread_or_word(tmp_path: Path, environ: dict[str, str]) -> None:
    modules = [
        found.name
        for found in pkgutil.walk_packages(opencode_tui.__path__, "opencode_tui.")
        if found.name not in (*OWN_PROCESS, *WITHOUT_DASK) and not found.name.startswith(SCREEN)
    ]
    code = "import importlib\n" + "\n".join(f"importlib.import_module({name!r})" for name in modules)
    before = sorted(tmp_path.rglob("*"))
    names, threads, stdout = loaded_after(code, tmp_path, environ)
    assert (threads, stdout, sorted(tmp_path.rglob("*"))) == (1, "", before)
    assert names & {"litellm", "textual"} == set()
    assert len(modules) > 50


@pytest.mark.slow
def test_the_screen_leaves_the_engine_for_after_its_first_frame(tmp_path: Path, environ: dict[str, str]) -> None:
    names, threads, stdout = loaded_after("import opencode_tui.tui.app", tmp_path, environ)
    assert (threads, stdout) == (1, "")
    assert names & (set(HEAVY) - {"textual", "rich", "platformdirs"}) == set()


@pytest.mark.slow
def test_the_whole_screen_loads_no_calls_of_the_client(tmp_path: Path, environ: dict[str, str]) -> None:
    code = "from opencode_tui.tui.app import load_actions; load_actions()"
    ours = "import sys\nprint(sorted(name for name in sys.modules if name.startswith('opencode_tui.client.')))"
    stdout = loaded_after(f"{code}\n{ours}", tmp_path, environ)[2]
    assert "'opencode_tui.client.client'" in stdout
    assert "opencode_tui.client.facets" not in stdout


@pytest.mark.slow
def test_a_turn_in_a_known_repository_loads_no_process_libraries(tmp_path: Path, environ: dict[str, str]) -> None:
    repo = make_repo(tmp_path / "project")
    repo.commit("first", a="1\n")
    discover(repo.path, paths=find_paths(environ), environ=environ)
    code = "from opencode_tui.cli.main import run_command_line as run; assert run(['run', 'hello']) == 0"
    names, _, stdout = loaded_after(code, repo.path, environ)
    assert stdout
    assert "msgspec" in names
    assert names & {"git", "psutil", "platformdirs"} == set()


@pytest.mark.slow
def test_a_turn_that_changes_no_file_loads_little_of_the_snapshots(tmp_path: Path, environ: dict[str, str]) -> None:
    code = "from opencode_tui.cli.main import run_command_line as run; assert run(['run', 'hello']) == 0"
    ours = "import sys\nprint(sorted(name for name in sys.modules if name.startswith('opencode_tui.engine.snapshot.')))"
    stdout = loaded_after(f"{code}\n{ours}", make_repo(tmp_path / "project").path, environ)[2]
    light = ["record", "record.call", "record.write", "worktree_paths"]
    assert stdout.splitlines()[-1] == str([f"opencode_tui.engine.snapshot.{name}" for name in light])


@pytest.mark.slow
def test_a_turn_loads_no_shapes_of_other_commands(tmp_path: Path, environ: dict[str, str]) -> None:
    others = ["schema.api.context", "schema.api.file", "schema.api.trust", "schema.session.undo", "client.client"]
    others += ["schema.api.trash", "schema.api.pty", "schema.event.folder_event", "schema.event.screen_event"]
    names = [f"opencode_tui.{name}" for name in [*others, "cli.session_choice"]]
    assert [name for name in names if importlib.util.find_spec(name) is None] == []
    code = f"import opencode_tui.cli.run.turn\nprint([name for name in {names!r} if name in sys.modules])"
    assert loaded_after(f"import sys\n{code}", tmp_path, environ)[2] == "[]\n"


@pytest.mark.slow
def test_a_look_for_stores_of_other_programs_loads_nothing_that_reads_them(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    names = ["extras.importing.importer", "extras.importing.source", "engine.snapshot.snapshot"]
    names = [f"opencode_tui.{name}" for name in names]
    assert [name for name in names if importlib.util.find_spec(name) is None] == []
    code = f"import opencode_tui.extras.importing.places\nprint([name for name in {names!r} if name in sys.modules])"
    assert loaded_after(f"import sys\n{code}", tmp_path, environ)[2] == "[]\n"


UNUSED = (
    "pydantic_core",
    "http",
    "pickle",
    "_strptime",
    "rapidfuzz",
    "importlib.metadata",
    "zipfile",
    "git",
    "psutil",
    "yaml",
    "platformdirs",
)
"""What a prompt without a tool call has no use for, each imported by something that it does use."""


@each(
    "arguments",
    [["run", "hello"], ["run", "-m", "fake/fake-model", "hello"], ["run", "-c", "-m", "fake/fake-model", "hello"]],
)
def test_a_prompt_loads_nothing_that_it_does_not_use(
    tmp_path: Path, environ: dict[str, str], arguments: list[str]
) -> None:
    assert [name for name in UNUSED if importlib.util.find_spec(name) is None] == []
    code = f"""import sys
sys.argv[1:] = {arguments!r}
from opencode_tui.__main__ import main
try:
    main()
except SystemExit as end:
    assert not end.code
print([name for name in {UNUSED!r} if name in sys.modules])"""
    with CannedServer(answer_packets(20)) as server:
        given = json.dumps({"provider": provider(server.base_url)})
        variables = {**environ, "OPENCODE_OF_ANOTHER_PROGRAM": "1", "OPENCODE_CONFIG_CONTENT": given}
        stdout = loaded_after(code, tmp_path, variables)[2]
    assert stdout.splitlines()[-1] == "[]"
