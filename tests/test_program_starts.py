"""Every module that starts a program is listed here with where its program comes from: mostly `opencode_tui/programs.py`."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.rows import each
from tests.support.source.tree import Module, read_source_tree

ROOT = Path(__file__).parents[1]

_MODULES = {"subprocess", "pty", "webbrowser", "multiprocessing"}
_STARTERS = ("exec", "spawn", "posix_spawn", "system", "popen", "fork", "startfile")
_TEXT_OF_START = re.compile(
    rf"subprocess|\b(?:{'|'.join(_MODULES)})\b|\bos\s*\.\s*(?:{'|'.join(_STARTERS)})|\bfrom\s+os\s+import\b"
)
_TEXT_OF_LOOKUP = re.compile(r"\bshutil\.which\b|\bfrom\s+shutil\s+import\b|\bos\.get_exec_path\b")
"""What stands in each module that starts a program, or looks for one; only these are parsed, as parsing all takes a second."""

_FREE = {("subprocess", name) for name in ("DEVNULL", "PIPE", "STDOUT", "Popen", "SubprocessError", "TimeoutExpired")}
"""Constants and classes of errors; a call of `Popen` counts all the same."""

STARTS = {
    "batch/pool_local.py": "this Python, by python_command",
    "cli/commands/auth.py": "find_program",
    "engine/doctor.py": "find_program",
    "cli/detached.py": "this Python, by python_command",
    "cli/commands/upgrade.py": "find_program",
    "engine/mcp/browser.py": "find_program",
    "engine/mcp/process.py": "mcp/server.py: find_program, or a path or PATH that the settings name",
    "engine/project/git.py": "find_program",
    "engine/project/programs.py": "its callers: ProjectPrograms, /bin/sh, this Python",
    "engine/provider/litellm_worker.py": "this Python, by python_command",
    "engine/sandbox/mounts.py": "this Python, isolated (`-I`)",
    "engine/sandbox/piped.py": "a confined program, by bubblewrap.py",
    "engine/sandbox/tiers/leftover.py": "/bin/sh, which finds grep and sleep in folders of the system alone",
    "engine/sandbox/tiers/view.py": "bubblewrap, by bubblewrap.py",
    "engine/sandbox/tiers/reaper.py": "the confined program; runs inside the sandbox",
    "engine/sandbox/tiers/relay.py": "runs inside the sandbox",
    "engine/sandbox/tier.py": "bubblewrap.find_program, /bin/sh, /usr/bin/sandbox-exec",
    "engine/search/build.py": "this Python, by python_command",
    "engine/tool/builtin/webfetch.py": "this Python, by python_command",
    "engine/tool/process/process.py": "find_shell, by find_program; the sandbox's own program",
    "engine/tool/search/ripgrep.py": "find_program",
    "extras/pty/terminals.py": "/bin/sh, then what the user's terminal runs",
    "tui/actions/facts.py": "this Python, by python_command",
    "tui/external_editor.py": "find_program",
    "tui/prompt/desktop.py": "find_program",
}
LOOKUPS = {
    "programs.py": "tests absolute paths",
    "config/check/consistency.py": "warns about a program that is missing; starts none",
    "engine/mcp/server.py": "the folders that the settings of a server name",
    "engine/project/programs.py": "programs of a trusted project, which are confined",
}


def dotted(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=attr):
            return f"{dotted(value)}.{attr}"
        case _:
            return ""


def starts(module: Module) -> Iterator[int]:
    """Yield the lines that start a program."""
    for node in ast.walk(module.tree) if _TEXT_OF_START.search(module.source) else ():
        if isinstance(node, ast.Call):
            *owner, name = dotted(node.func).split(".")
            is_module = owner[-1:] and owner[-1] in _MODULES
            if (
                (is_module and name not in {"SubprocessError", "TimeoutExpired"})
                or (owner == ["os"] and name.startswith(_STARTERS))
                or name in ("create_subprocess_exec", "create_subprocess_shell", "subprocess_exec", "subprocess_shell")
            ):
                yield node.lineno
        elif isinstance(node, ast.ImportFrom):
            names = {(node.module, alias.name) for alias in node.names}
            if node.module in _MODULES and not names <= _FREE:
                yield node.lineno
            if node.module == "os" and any(alias.name.startswith(_STARTERS) for alias in node.names):
                yield node.lineno
        elif isinstance(node, ast.Import) and any(alias.name in _MODULES - {"subprocess"} for alias in node.names):
            yield node.lineno


def lookups(module: Module) -> Iterator[int]:
    """Yield the lines that look for a program without us."""
    for node in ast.walk(module.tree) if _TEXT_OF_LOOKUP.search(module.source) else ():
        if isinstance(node, ast.Attribute) and dotted(node).endswith(("shutil.which", "os.get_exec_path")):
            yield node.lineno
        elif isinstance(node, ast.ImportFrom) and node.module == "shutil":
            yield from (node.lineno for alias in node.names if alias.name == "which")


def names(found: list[Module]) -> set[str]:
    return {module.path.relative_to(ROOT / "opencode_tui").as_posix() for module in found}


@pytest.fixture(scope="module")
def modules() -> list[Module]:
    return list(read_source_tree(ROOT).modules.values())


@pytest.mark.slow
def test_only_known_modules_start_programs(modules: list[Module]) -> None:
    assert names([module for module in modules if any(starts(module))]) == set(STARTS)


@pytest.mark.slow
def test_only_known_modules_look_for_programs(modules: list[Module]) -> None:
    assert names([module for module in modules if any(lookups(module))]) == set(LOOKUPS)


def test_this_python_is_started_in_one_way(modules: list[Module]) -> None:
    """Without `-P`, modules of the current folder are imported; the relay, the reaper, the covering of files and pip have `-I`.

    `own_program` and `ripgrep` only look where it is.
    """
    used = [
        module
        for module in modules
        if "sys.executable" in module.source
        and any(isinstance(node, ast.Attribute) and dotted(node) == "sys.executable" for node in ast.walk(module.tree))
    ]
    assert names(used) == {
        "programs.py",
        "engine/newest_version.py",
        "engine/sandbox/tiers/bubblewrap.py",
        "engine/sandbox/tiers/landlock.py",
        "engine/sandbox/mounts.py",
        "engine/sandbox/own_program.py",
        "engine/tool/search/ripgrep.py",
    }


@each(
    "source",
    [
        "import subprocess\nsubprocess.run(['git'])",
        "from subprocess import run",
        "import os\nos.system('git')",
        "import os\nos.execvp('git', [])",
        "from os import posix_spawn",
        "import asyncio\nasyncio.create_subprocess_shell('git')",
        "import asyncio\nasyncio.subprocess.create_subprocess_exec('git')",
        "async def f(loop): await loop.subprocess_exec(None, 'git')",
        "import webbrowser",
        "import subprocess\nsubprocess.Popen(['git'])",
    ],
)
def test_a_start_is_found(source: str) -> None:
    assert list(starts(Module("sample", Path("sample.py"), source)))


@pytest.mark.parametrize("source", ["import shutil\nshutil.which('git')", "from shutil import which"])
def test_a_lookup_is_found(source: str) -> None:
    assert list(lookups(Module("sample", Path("sample.py"), source)))


HOST_GIT = {
    "run_for_user": {"engine/review/commit.py", "engine/review/publish.py"},
    "is_private=True": {"engine/plugin/install.py", "extras/importing/snapshots.py"},
    "run_strictly": {"engine/services/folder.py"},
    "git.Git(": {"engine/project/git.py"},
    '"git"': {"engine/project/git.py"},
}
"""The only ways to a git that is not confined, with the modules that go them.

Those of the first hold back commands (`Review`), those of the second work where no command writes, and the third, which reads no
content of files, has a git folder of ours. `git_reach` says why git elsewhere is led nowhere.
"""


@each("way", HOST_GIT)
def test_git_on_the_host_has_few_ways(modules: list[Module], way: str) -> None:
    users = names([module for module in modules if way in module.source])
    defined = {"engine/project/git.py"} if way in ("run_for_user", "run_strictly") else set[str]()
    if way == '"git"':
        starts_git = [
            module for module in modules if 'find_program("git"' in module.source or '["git",' in module.source
        ]
        assert names(starts_git) == HOST_GIT[way]
        return
    assert users - defined - {"engine/snapshot/scan/stat_index.py"} == HOST_GIT[way]


def test_commands_are_held_while_git_runs_on_the_host(modules: list[Module]) -> None:
    """`Review` is the only caller of what runs git for the user, and it does that alone."""
    callers = [module for module in modules if re.search(r"\b(commit_marked|publish import)\b", module.source)]
    assert names(callers) == {"engine/review/commit.py", "engine/review/review.py"}
    (review,) = [module for module in callers if module.path.name == "review.py"]
    for name in ("commit_marked(", "push(", "open_request("):
        calls = [line for line in review.source.splitlines() if f"await {name}self._" in line]
        assert calls and all(line.startswith(" " * 12) for line in calls)
    assert review.source.count("async with self._alone():") == 3
