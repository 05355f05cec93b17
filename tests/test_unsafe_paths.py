"""Which code changes files by their paths: a command can replace any folder that it may write by a link that leads elsewhere.

`storage/safe_folder.py` opens folders without following links, and changes entries of open folders. All other code uses it, or is
in the table below with the reason why no command can change a part of its paths.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import opencode_tui
from tests.support.rows import each

ROOT = Path(opencode_tui.__file__).parent
SAFE = "storage/safe_folder.py"

OS = frozenset(
    [
        "replace",
        "rename",
        "renames",
        "unlink",
        "remove",
        "rmdir",
        "removedirs",
        "mkdir",
        "makedirs",
        "symlink",
        "link",
        "chmod",
        "chown",
        "lchown",
        "truncate",
        "utime",
        "mkfifo",
        "mknod",
        "setxattr",
        "removexattr",
    ]
)
SHUTIL = frozenset(
    ["rmtree", "move", "copy", "copy2", "copyfile", "copytree", "copymode", "copystat", "chown", "unpack_archive"]
)
TEMPORARY = frozenset(
    ["mkstemp", "mkdtemp", "NamedTemporaryFile", "TemporaryFile", "TemporaryDirectory", "SpooledTemporaryFile"]
)
PATH_METHODS = {
    **dict.fromkeys(("write_text", "write_bytes", "symlink_to", "hardlink_to"), None),
    **dict.fromkeys(("unlink", "rmdir", "touch", "mkdir", "lchmod"), 0),
    **dict.fromkeys(("rename", "replace", "chmod"), 1),
}
"""Methods of Path, with the number of positional arguments that tells them from methods of the same name; None for any number."""

WRITING = frozenset("wax+")
WRITING_FLAGS = frozenset(["O_WRONLY", "O_RDWR", "O_CREAT", "O_APPEND", "O_TRUNC", "O_TMPFILE"])
WRITERS = frozenset({"AtomicWriter", "FileSystem"})
"""Our classes that change files by their paths."""

NEW_FILES = frozenset({"create", "open_to_append", "mkstemp"})
"""Calls that return an open file, besides `os.open`, which counts itself."""


_TEXTS = (
    *(
        f"{module}.{name}"
        for module, names in (("os", OS), ("shutil", SHUTIL), ("tempfile", TEMPORARY))
        for name in names
    ),
    *(f"{word} {module} " for word in ("from", "import") for module in ("os", "shutil", "tempfile")),
    *(f".{name}" for name in PATH_METHODS if name != "replace"),
    *("open(", *WRITERS),
)
_REPLACE = re.compile(r"\.replace\b(?!\((?:\"[^\"\n]*\"|'[^'\n]*'),)")
"""What stands in each module with such a call, as `ruff format` writes it. Most have none, and need not be parsed."""

_LEAVES = (ast.expr_context, ast.operator, ast.Name, ast.Constant)


class Search(ast.NodeVisitor):
    """Finds the calls and references that change files by their paths, with the functions they are in."""

    def __init__(self, tree: ast.Module) -> None:
        self.found: list[tuple[str, str, int]] = []
        self._scope: list[str] = []
        self._descriptors: list[set[str]] = [set()]
        self._flags = {
            target.id: ast.unparse(node.value)
            for node in tree.body
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        self.visit(tree)

    def generic_visit(self, node: ast.AST) -> None:
        for one in ast.iter_child_nodes(node):
            if not isinstance(one, _LEAVES):
                self.visit(one)

    def _add(self, node: ast.AST, name: str) -> None:
        self.found.append((".".join(self._scope) or "module", name, getattr(node, "lineno", 0)))

    def _enter(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        self._scope.append(node.name)
        self._descriptors.append({*self._descriptors[-1], *_opened_in(node)})
        self.generic_visit(node)
        self._descriptors.pop()
        self._scope.pop()

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = _enter

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            if alias.name in {"os": OS | {"open"}, "shutil": SHUTIL, "tempfile": TEMPORARY}.get(node.module or "", ()):
                self._add(node, f"from {node.module} import {alias.name}")

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            if alias.asname is not None and alias.name in ("os", "shutil", "tempfile"):
                self._add(node, f"import {alias.name} as")

    def visit_Attribute(self, node: ast.Attribute) -> None:
        match node:
            case ast.Attribute(value=ast.Name(id="os"), attr=name) if name in OS:
                self._add(node, f"os.{name}")
            case ast.Attribute(value=ast.Name(id="shutil"), attr=name) if name in SHUTIL:
                self._add(node, f"shutil.{name}")
            case ast.Attribute(value=ast.Name(id="tempfile"), attr=name) if name in TEMPORARY:
                self._add(node, f"tempfile.{name}")
            case _:
                pass
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        match node.func:
            case ast.Name(id="open"):
                if WRITING & set(_text(node, 1, "mode")) and not self._is_open(node.args[0]):
                    self._add(node, "open")
            case ast.Name(id=name) if name in WRITERS:
                self._add(node, name)
            case ast.Attribute(value=ast.Name(id="os"), attr="open"):
                flags = ast.unparse(node.args[1]) if len(node.args) > 1 else ""
                if any(flag in self._flags.get(flags, flags) for flag in WRITING_FLAGS) or "O_" not in self._flags.get(
                    flags, flags
                ):
                    self._add(node, "os.open")
            case ast.Attribute(value=ast.Name(id="os" | "shutil" | "tempfile" | "io")):
                pass
            case ast.Attribute(attr="open"):
                if WRITING & set(_text(node, 0, "mode")):
                    self._add(node, "Path.open")
            case ast.Attribute(attr=name) if name in PATH_METHODS and _fits(node, PATH_METHODS[name]):
                self._add(node, f"Path.{name}")
            case _:
                pass
        for one in [*node.args, *(keyword.value for keyword in node.keywords)]:
            match one:  # such as asyncio.to_thread(path.unlink)
                case ast.Attribute(value=ast.Name(id="os" | "shutil" | "tempfile")):
                    pass
                case ast.Attribute(attr=name) if name in PATH_METHODS:
                    self._add(one, f"Path.{name}")
                case _:
                    pass
        self.generic_visit(node)

    def _is_open(self, argument: ast.expr) -> bool:
        """Return whether the first argument of `open` is a descriptor."""
        return (isinstance(argument, ast.Name) and argument.id in self._descriptors[-1]) or _opens(argument)


def _opens(value: ast.expr) -> bool:
    return (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Attribute)
        and (value.func.attr in NEW_FILES or ast.unparse(value.func) == "os.open")
    )


def _opened_in(node: ast.AST) -> Iterator[str]:
    """Yield the names that are assigned descriptors."""
    for one in ast.walk(node):
        if isinstance(one, ast.Assign) and _opens(one.value):
            for target in one.targets:
                first = target.elts[0] if isinstance(target, ast.Tuple) else target
                if isinstance(first, ast.Name):
                    yield first.id


def _text(call: ast.Call, position: int, keyword: str) -> str:
    values = [one.value for one in call.keywords if one.arg == keyword]
    values += call.args[position : position + 1]
    return next((one.value for one in values if isinstance(one, ast.Constant) and isinstance(one.value, str)), "")


def _fits(call: ast.Call, count: int | None) -> bool:
    if any(one.arg not in ("missing_ok", "parents", "exist_ok", "mode", "target", "encoding") for one in call.keywords):
        return False
    return count is None or len(call.args) == count


def unsafe_calls(source: str) -> list[tuple[str, str, int]]:
    """Return the function, the name and the line of each call."""
    if not any(text in source for text in _TEXTS) and _REPLACE.search(source) is None:
        return []
    return Search(ast.parse(source)).found


OWN = "a file of our data, state, cache or settings folder, where no command may write"
NEW = "a folder that was just made, which no command has been given"
SYSTEM_TEMP = "a new name in the system's temp folder, where commands have folders of their own"
NAMED = "a file that the user named on the command line"
DEVICE = "a device, never a path of a project"
NO_FILE = "no file: a method of ours with the name of one of Path"
DESCRIPTOR = "an open file"
KERNEL = "a file of the kernel about a process"
SERVER = "the folder of a share server, which runs no commands"

EXCEPTIONS: dict[str, dict[str, str]] = {
    "batch/journal.py": {"open_journal": NAMED, "_open": NAMED},
    "batch/swebench.py": {"write_predictions": NAMED},
    "engine/doctor.py": {"_try_to_write": OWN},
    "cli/commands/tui.py": {"_report": DEVICE},
    "cli/commands/web.py": {"_serve": OWN, "_open_browser": OWN},
    "cli/detached.py": {"_Leaving.close_streams": DEVICE, "_Leaving._return_again": DEVICE},
    "cli/errors.py": {"_keep_traceback": OWN, "drop_closed_output": DEVICE},
    "cli/log.py": {"open_log": OWN, "_PrivateFile._write": OWN},
    "cli/terminal.py": {"write_answer": DEVICE},
    "config/installed/store.py": {"InstalledStore.put": OWN, "InstalledStore.switch": OWN},
    "engine/file/git_status.py": {"unwatched_files": SYSTEM_TEMP},
    "engine/file/task_repository.py": {"TaskRepository._patch": OWN, "TaskRepository.read_files": OWN},
    "config/own_process.py": {"_overwrite": DEVICE},
    "config/secret_file.py": {"SecretFile._restrict_mode": OWN, "SecretFile._write": OWN},
    "config/trust/store.py": {"TrustStore._write": OWN},
    "config/user_file.py": {
        "write_settings_text": "settings that the user keeps behind links, as programs for dot files do; only the user starts it",
        "add_mcp_server": "the user's current folder, on the user's command; it exists",
    },
    "config/well_known.py": {"AcceptedStore.remove": OWN, "AcceptedStore._write": OWN},
    "engine/format/file_copy.py": {"copy_file": NEW, "_link_entries": NEW},
    "extras/importing/opencode_json.py": {
        "OpenCodeJson.__init__": SYSTEM_TEMP,
        "OpenCodeJson._migrate": SYSTEM_TEMP,
        "_Records.__init__": "only read",
    },
    "extras/importing/opencode_sqlite.py": {
        "OpenCodeSqlite.__init__": SYSTEM_TEMP,
        "OpenCodeSqlite._readable": SYSTEM_TEMP,
        "OpenCodeSqlite._diffs": "only read",
    },
    "extras/importing/service.py": {"Imports._mark": OWN},
    "engine/mcp/lists.py": {"ListCache.write": OWN},
    "engine/newest_version.py": {"find_newer": OWN},
    "engine/project/branch_files.py": {"merge_texts": SYSTEM_TEMP},
    "engine/project/changes.py": {"read_changes": NEW, "copy_regular_file": NEW},
    "engine/project/discover.py": {"_write_entry": OWN},
    "engine/project/isolated_clone.py": {
        "IsolatedClones.add": NEW,
        "IsolatedClones.record": OWN,
        "IsolatedClones._copy_objects": NEW,
        "IsolatedClones._copy_settings": NEW,
        "_keep_lines": NEW,
        "_append": NEW,
        "_delete_files": NEW,
    },
    "engine/project/linked_worktree.py": {"_make_empty": NEW},
    "engine/provider/litellm_child.py": {"_discard_output": DEVICE},
    "engine/provider/litellm_worker.py": {"_open_log": OWN},
    "engine/provider/model_fetch.py": {"ModelLists._write": OWN},
    "engine/provider/model_table.py": {"ModelTable._write_cache": OWN},
    "engine/provider/recent.py": {"RecentModels.remember": OWN},
    "engine/provider/spending.py": {"Spending._append": OWN, "Spending._delete_old": OWN},
    "engine/review/commit.py": {"commit_marked": SYSTEM_TEMP, "_Commit.make": NEW, "_Commit._applied": NEW},
    "engine/sandbox/cache_copies.py": {
        "bring": "the top of a project's folder of caches, where no command writes",
        "_copy": "reads a file of the user, and changes the times of an open file",
    },
    "engine/sandbox/caches.py": {
        "_record_repaired": "the top of a project's folder of caches, where no command writes"
    },
    "engine/sandbox/limits.py": {"Limits.apply": KERNEL},
    "engine/sandbox/own_git.py": {"_Copies._write": OWN},
    "engine/sandbox/sandbox.py": {
        "Sandbox._remember": OWN,
        "Sandbox._find_toolchains": "the top of a project's folder of caches, which no command can replace",
        "Sandbox._access": "the top of a temp folder, which no command can replace",
        "Sandbox._policy": "the top of a temp folder, which no command can replace",
        "Sandbox._start_proxy": NEW,
    },
    "engine/sandbox/tiers/reaper.py": {"main": DEVICE},
    "engine/sandbox/tier.py": {
        "_probe_once": OWN,
        "_probe_bubblewrap": SYSTEM_TEMP,
        "_probe_landlock": SYSTEM_TEMP,
        "_probe_seatbelt": SYSTEM_TEMP,
    },
    "engine/search/build.py": {"main": OWN, "build": NO_FILE, "_write_words": OWN},
    "engine/search/index.py": {
        "IndexFiles.replace": OWN,
        "IndexFiles.discard": OWN,
        "IndexFiles.clean": OWN,
        "Index.__init__": OWN,
    },
    "engine/search/searcher.py": {"Searcher.__init__": "only read", "Searcher._open": NO_FILE},
    "engine/session/records/fork_copy.py": {"*": OWN},
    "engine/session/records/imported.py": {"ImportedRecords.write": OWN},
    "engine/session/revert/retention.py": {"needed_snapshots": "only read"},
    "client/snapshots.py": {"list_stores": "only read"},
    "engine/session/tokens/estimate.py": {"TokenEstimator._write": OWN},
    "engine/share/record.py": {"KnownServers.add": OWN},
    "engine/snapshot/change_log.py": {"*": OWN},
    "engine/snapshot/objects/quota.py": {"*": OWN},
    "engine/snapshot/objects/store.py": {"*": OWN},
    "engine/snapshot/revert/journal.py": {"*": OWN},
    "engine/snapshot/scan/stat_cache.py": {"save_cache": OWN},
    "engine/snapshot/scan/stat_index.py": {"_MemoryIndex.__init__": DESCRIPTOR},
    "engine/snapshot/unlocked.py": {"*": OWN},
    "engine/snapshot/worktree.py": {"Worktree.__init__": OWN},
    "engine/tool/process/limit_watch.py": {"LimitWatch._lower_priority": KERNEL, "_Share._write": KERNEL},
    "engine/tool/process/running_command.py": {"CommandOutput._open": OWN},
    "engine/tool/truncate.py": {"Truncator._save": OWN, "remove_old_outputs": OWN},
    "extras/dask/bundle.py": {"create_bundle": SYSTEM_TEMP, "clone_bundle": NEW, "_borrow_objects": NEW},
    "extras/dask/imports.py": {"SessionImports._import": SYSTEM_TEMP},
    "extras/dask/repository.py": {"ClonedRepositories.open": OWN, "ClonedRepositories._evict": OWN},
    "extras/share_server/store.py": {"*": SERVER},
    "storage/doctor.py": {"*": OWN},
    "storage/engine_claim.py": {"*": OWN},
    "storage/files.py": {"*": "the calls of the storage, on our data, state, cache and settings folders only"},
    "storage/index_file.py": {"*": OWN},
    "storage/locks.py": {"*": OWN},
    "storage/looks.py": {"*": OWN},
    "storage/migrations.py": {"*": OWN},
    "storage/paths.py": {"ensure": OWN},
    "storage/process_lock.py": {"*": OWN},
    "storage/storage.py": {"*": OWN},
    "storage/task_folders.py": {"_write": OWN, "delete_record": OWN},
    "storage/trash.py": {"*": OWN},
    "tui/first_page.py": {"write_page": OWN},
    "tui/actions/prompt.py": {
        "_edit": "the folder of the project or of our settings, for the user's editor",
        "edit_outside": SYSTEM_TEMP,
    },
    "tui/prompt/desktop.py": {"view_image": SYSTEM_TEMP},
    "tui/prompt/history.py": {"append_history": OWN, "_cut": OWN},
    "tui/state/model_selection.py": {"_write": OWN},
    "tui/chat/start.py": {"_is_first": OWN},
}
"""Of each module the functions with such calls, and why a command cannot change a part of their paths; `*` is the whole module."""


@cache
def sources() -> dict[str, list[tuple[str, str, int]]]:
    """Return the calls of each module that has any."""
    modules = {path.relative_to(ROOT).as_posix(): path for path in ROOT.rglob("*.py")}
    assert unsafe_calls(modules[SAFE].read_text("utf-8")) != []
    found = {name: unsafe_calls(path.read_text("utf-8")) for name, path in modules.items() if name != SAFE}
    return {name: calls for name, calls in found.items() if calls}


@pytest.mark.slow
def test_only_functions_of_the_table_change_files_by_their_paths() -> None:
    unknown = [
        f"{module}:{line} {function}: {call}"
        for module, calls in sources().items()
        for function, call, line in calls
        if not {"*", function} & EXCEPTIONS.get(module, {}).keys()
    ]
    assert unknown == [], (
        "use storage/safe_folder.py, or name in the table why no command can change a part of the path"
    )


@pytest.mark.slow
def test_the_table_names_nothing_that_is_gone() -> None:
    found = {module: {"*", *(function for function, _, _ in calls)} for module, calls in sources().items()}
    unused = [
        (module, name) for module, rows in EXCEPTIONS.items() for name in rows if name not in found.get(module, ())
    ]
    assert unused == []


VIOLATIONS = {
    "os.replace": "import os\ndef f(a, b):\n    os.replace(a, b)",
    "os.unlink": "import os\ndef f(a):\n    return partial(os.unlink, a)",
    "shutil.rmtree": "import shutil\nasync def f(a):\n    await asyncio.to_thread(shutil.rmtree, a)",
    "from os import remove": "def f(a):\n    from os import remove\n    remove(a)",
    "import shutil as": "def f(a):\n    import shutil as s\n    s.rmtree(a)",
    "os.open": "import os\nFLAGS = os.O_WRONLY | os.O_CREAT\ndef f(a):\n    os.open(a, FLAGS)",
    "open": "def f(a):\n    with open(a, 'w') as file:\n        file.write('x')",
    "Path.open": "def f(a):\n    with a.open(mode='r+b') as file:\n        file.write('x')",
    "Path.write_text": "def f(a):\n    a.parent.write_text('x')",
    "Path.unlink": "def f(a):\n    a.unlink(missing_ok=True)",
    "Path.rename": "async def f(a, b):\n    await asyncio.to_thread(a.rename, b)",
    "Path.replace": "def f(a, b):\n    a.replace(b)",
    "Path.mkdir": "def f(a):\n    a.mkdir(parents=True)",
    "Path.symlink_to": "def f(a, b):\n    a.symlink_to(b)",
    "tempfile.mkdtemp": "import tempfile\ndef f(a):\n    return tempfile.mkdtemp(dir=a)",
    "AtomicWriter": "def f(a, b):\n    AtomicWriter(files).write(a, b)",
}


@each("name", VIOLATIONS)
def test_the_check_sees_a_violation(name: str) -> None:
    assert ("f", name) in [found[:2] for found in unsafe_calls(VIOLATIONS[name])]


HARMLESS = (
    "def f(text):\n    return text.replace('a', 'b')",
    "def f(self, folder):\n    folder.rename('a', 'b')",
    "def f(path):\n    with open(path, 'rb') as file, path.open() as again:\n        pass",
    "def f(folder):\n    descriptor = folder.create('a')\n    with open(descriptor, 'wb') as file:\n        pass",
    "def f(value):\n    return replace(value, name='a')",
    "import os\ndef f(path):\n    return os.open(path, os.O_RDONLY)",
)


@pytest.mark.parametrize("source", HARMLESS)
def test_the_check_passes_what_changes_no_path(source: str) -> None:
    assert unsafe_calls(source) == []
