"""Claims about what leaves without a tool: one decision for the content of files, and each place that takes it asks for that."""

import ast
from pathlib import Path

import opencode_tui
from opencode_tui.engine.permission.defaults import reading_rules
from opencode_tui.engine.permission.leaving import DENIED, HIDDEN, PRIVATE, SECRET, Leaving
from opencode_tui.engine.permission.path_forms import PathForms
from opencode_tui.engine.sandbox.folders import hides
from opencode_tui.redaction.cover import MASK
from opencode_tui.schema.api.review import ChangedPath, Hunk
from opencode_tui.schema.session.diff import FileDiff
from tests.support.rows import each
from tests.support.world.rules import rules

HOME, ROOT = "/home/u", "/home/u/proj"
ORIGIN = "/home/u/origin"
KEY = "sk-ant-api03-" + "Ab1_" * 20
PEM = "-----BEGIN OPENSSH PRIVATE KEY-----"


def leaving(*given: str, hidden: tuple[str, ...] = ()) -> Leaving:
    """Return the decision under rules of the user and hidden paths, in a copy of another work tree."""
    forms = PathForms(ROOT, [ROOT, ORIGIN])

    def is_hidden(path: str) -> bool:
        return hides(hidden, Path(HOME), Path(ROOT), [Path(ORIGIN)], path)

    return Leaving(ROOT, forms, lambda: [[*reading_rules(), *rules(*given)]], is_hidden)


LEFT_OUT = [
    (SECRET, (), (), ".env"),
    (SECRET, (), (), ".ENV"),
    (SECRET, (), (), "prod.env"),
    (SECRET, (), (), "packages/api/.env.local"),
    (SECRET, (), (), ".env.production/x"),
    (SECRET, (), (), "src/../.env"),
    (SECRET, (), (), f"{ROOT}/.env"),
    (SECRET, (), (), ".env "),
    (SECRET, (), (), ".git/config"),
    (SECRET, ("read * allow",), (), ".env"),
    (DENIED, ("read secrets/* deny",), (), "secrets/key"),
    (DENIED, ("read secrets deny",), (), "secrets/a/b"),
    (DENIED, ("read ./secrets/ deny",), (), "secrets/key"),
    (DENIED, ("read secrets/* ask",), (), "secrets/key"),
    (DENIED, (f"read {ROOT}/secrets/* deny",), (), "secrets/key"),
    (DENIED, (f"read {ORIGIN}/secrets/* deny",), (), "secrets/key"),
    (DENIED, ("read *.pem deny",), (), "a/b.pem"),
    (DENIED, ("read * deny", "read src/* allow"), (), "README.md"),
    (DENIED, ("read .env deny",), (), ".env"),
    (HIDDEN, (), ("secrets",), "secrets/key"),
    (HIDDEN, (), ("secrets/",), "secrets/gone/key"),
    (HIDDEN, (), ("./secrets",), "secrets"),
    (HIDDEN, (), ("**/key",), "a/b/key"),
    (HIDDEN, (), ("**/private/**",), "a/private/b/c"),
    (HIDDEN, (), ("sec*",), "secrets/key"),
    (HIDDEN, (), (f"{ROOT}/secrets",), "secrets/key"),
    (HIDDEN, (), (f"{ORIGIN}/secrets",), "secrets/key"),
    (HIDDEN, (), ("~/proj/secrets",), "secrets/key"),
    (HIDDEN, (), ("~/origin/secrets/",), "secrets/key"),
    (HIDDEN, (), ("~/*/secrets",), "secrets/key"),
    (HIDDEN, ("read secrets/* allow",), ("secrets",), "secrets/key"),
]
"""The reason, rules, hidden paths, and a file that may not leave."""

MAY_LEAVE = [
    ((), (), "README.md"),
    ((), (), ".env.example"),
    ((), (), "environment.py"),
    ((), (), "src/env.ts"),
    ((), (), ".gitignore"),
    (("read .env.test allow",), (), ".env.test"),
    (("read *.env allow",), (), ".env"),
    (("read * deny", "read src/* allow"), (), "src/a.py"),
    ((), ("secrets",), "secrets2/key"),
    ((), ("secrets/key",), "secrets/other"),
    ((), ("~/other/secrets",), "secrets/key"),
]


@each(("reason", "given", "hidden", "name"), LEFT_OUT)
def test_the_content_of_such_a_file_stays(
    reason: str, given: tuple[str, ...], hidden: tuple[str, ...], name: str
) -> None:
    assert leaving(*given, hidden=hidden).objection(name) == reason


@each(("given", "hidden", "name"), MAY_LEAVE)
def test_that_of_others_may_leave(given: tuple[str, ...], hidden: tuple[str, ...], name: str) -> None:
    assert leaving(*given, hidden=hidden).objection(name) == ""


def test_a_private_key_keeps_its_file_whatever_its_name_is() -> None:
    assert leaving().objection("notes.txt", f"a\n{PEM}\n") == PRIVATE
    assert leaving().objection("notes.txt", "a private key") == ""


def test_a_change_for_a_model_names_what_is_left_out_and_masks_keys() -> None:
    secret, plain = _change(".env", "+K=canary"), _change("a.py", f'+key = "{KEY}"', "+x = 1")
    found = leaving().changed([secret, plain])
    assert [one.note for one in found] == [f"left out: {SECRET}", ""]
    assert [hunk.lines for one in found for hunk in one.hunks] == [[], [f'+key = "{MASK}"', "+x = 1"]]


def test_the_changes_of_a_session_have_no_text_of_such_files() -> None:
    before = FileDiff(file=".env", before="K=canary\n", after="K=2\n", additions=1, deletions=1)
    (found,) = leaving().diffs([before])
    assert (found.before, found.after, found.additions, found.note) == ("", "", 1, f"left out: {SECRET}")


PATCH = """diff --git a/a.py b/a.py
--- a/a.py
+++ b/a.py
@@ -1 +1 @@
-x
+y
diff --git a/packages/.env.local b/packages/.env.local
new file mode 100644
--- /dev/null
+++ b/packages/.env.local
@@ -0,0 +1 @@
+K=canary
diff --git "a/k\\303\\274che/.env" "b/k\\303\\274che/.env"
--- "a/k\\303\\274che/.env"
+++ "b/k\\303\\274che/.env"
@@ -1 +1 @@
-K=canary
+K=canary2
diff --git a/.env b/notes.txt
similarity index 90%
rename from .env
rename to notes.txt
--- a/.env
+++ b/notes.txt
@@ -1 +1 @@
-K=canary
+K=canary3
diff --git a/b.bin b/b.bin
Binary files a/b.bin and b/b.bin differ
"""


def test_the_patch_of_an_agent_names_such_files_without_their_lines() -> None:
    found = leaving().patch(PATCH)
    assert "canary" not in found
    assert found.count(f"(left out: {SECRET})") == 3
    assert "+y\n" in found and found.endswith("Binary files a/b.bin and b/b.bin differ\n")
    assert leaving().patch("") == "" and leaving().patch("no patch\n") == "no patch\n"


def _change(path: str, *lines: str) -> ChangedPath:
    return ChangedPath(
        path=path, state="untracked", status="added", additions=len(lines), hunks=[Hunk(id="1", lines=list(lines))]
    )


TAKES_CONTENT = {
    "read_named": "changes for a review",
    "read_changes": "changes of a work tree",
    "read_pieces": "changes of a work tree",
    "net_changes": "changes of a session's snapshots",
    "collect_changes": "changes of an agent",
    "diff": "changes between snapshots",
    "changes": "changes of a task's work tree",
    "collect": "changes of an agent",
}
"""Functions that return the content of files without a tool."""

DOORS = {
    "engine/review/review.py": "leaving",
    "engine/session/revert/summary.py": "leaving",
    "engine/session/revert/files.py": "leaving",
    "engine/session/subagent.py": "leaving",
    "engine/review/commit.py": "writes into the repository",
    "engine/review/changes.py": "reads for review.py",
    "engine/review/ranges.py": "reads for review.py",
    "engine/project/isolated_clone.py": "reads for agent_worktree.py and batches",
    "engine/project/linked_worktree.py": "reads for agent_worktree.py and batches",
    "engine/file/task_repository.py": "reads for agent_worktree.py and batches",
    "engine/session/agent_worktree.py": "makes a branch; subagent.py gives its text to a model",
    "engine/session/left_agents.py": "makes a branch",
}
"""The modules of the engine that call one of them: with the decision, or why they need none."""

OTHERS = frozenset(
    {"_snapshots.diff", "snapshots.diff", "repository.changes", "worktrees.changes", "clones.changes", "made.collect"}
)
"""Of the methods with a common name those of these objects."""


def test_each_place_that_takes_the_content_of_files_decides_what_leaves() -> None:
    root = Path(opencode_tui.__file__).parent
    found = {str(path.relative_to(root)) for path in (root / "engine").rglob("*.py") if _takes_content(path)}
    assert found == set(DOORS)
    deciding = {name for name, how in DOORS.items() if how == "leaving"}
    assert [name for name in sorted(deciding) if not _decides(root / name)] == []


def _takes_content(path: Path) -> bool:
    text = path.read_text("utf-8")
    return any(name in text for name in TAKES_CONTENT) and any(
        isinstance(node, ast.Call) and _is_source(ast.unparse(node.func)) for node in ast.walk(ast.parse(text))
    )


def _is_source(called: str) -> bool:
    name = called.rpartition(".")[2]
    if name in ("diff", "changes", "collect"):
        return any(called == other or called.endswith(f".{other}") for other in OTHERS) or "worktrees)." in called
    return name in TAKES_CONTENT


def _decides(path: Path) -> bool:
    called = [
        ast.unparse(node) for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Attribute)
    ]
    return any(name.endswith(("leaving.changed", "leaving.diffs", "leaving.patch")) for name in called)
