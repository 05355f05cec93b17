import json
from pathlib import Path

import pytest

from opencode_tui.storage.locks import Locks
from opencode_tui.storage.paths import Paths
from tests.support.hostile.strings import HOSTILE, steering

pytestmark = pytest.mark.slow


def test_without_sessions_it_says_how_to_begin_one(commands):
    for command in ("list", "tree"):
        done = commands.run("session", command)
        assert (done.code, done.stdout) == (0, "") and 'opencode-tui run "' in done.stderr


def test_a_session_is_listed_shown_and_drawn(commands, session_id):
    rows = commands.run("session", "list").stdout.splitlines()
    assert rows[0].split() == ["ID", "TITLE", "USED"] and rows[1].split()[:2] == [session_id, "First"]
    assert f"{session_id}  First" in commands.run("session", "tree").stdout
    assert "✓ List   ." in commands.run("session", "show", session_id).stdout


def test_renaming_says_what_it_does_and_a_dry_run_does_nothing(commands, session_id):
    dry = commands.run("session", "rename", session_id, "Second", "--dry-run")
    assert dry.stderr == f'opencode-tui: would rename {session_id}: "First" to "Second"\n'
    assert "First" in commands.run("session", "list").stdout
    assert commands.run("session", "rename", session_id, " Second\n one ").code == 0
    assert "Second one" in commands.run("session", "list").stdout
    assert commands.run("session", "rename", session_id, "  ").code == 2


def test_deleting_shows_what_goes_and_never_without_a_yes(commands, session_id):
    assert commands.run("session", "delete", session_id, "--dry-run").code == 0
    asked = commands.run("session", "delete", session_id)
    assert (asked.code, asked.stdout) == (2, "") and '"First"' in asked.stderr and "--yes" in asked.stderr
    assert session_id in commands.run("session", "list").stdout
    done = commands.run("session", "delete", session_id, "--yes")
    assert done.code == 0 and done.stderr.endswith(f"restore with: opencode-tui session trash restore {session_id}\n")
    assert commands.run("session", "list").stdout == ""


def test_a_session_that_is_worked_on_is_not_deleted(commands, session_id, paths: Paths):
    lock = Locks(paths).session_run(session_id)
    lock.try_acquire()
    done = commands.run("session", "delete", session_id, "--yes")
    lock.release()
    assert done.code == 1 and f"session {session_id} is in use by process" in done.stderr


@pytest.mark.parametrize("command", [["show"], ["export"], ["delete", "--yes"], ["rename", "x"]])
def test_an_unknown_id_names_the_nearest_ones(commands, session_id, command):
    name = [*(["session"] if command != ["export"] else []), command[0], session_id[:-2], *command[1:]]
    done = commands.run(*name)
    assert (done.code, len(done.stderr.splitlines())) == (2, 1)
    assert f"similar: {session_id} (First)" in done.stderr and "session list" in done.stderr


@pytest.mark.parametrize("hostile", HOSTILE[:3])
def test_no_title_steers_the_terminal(commands, session_id, hostile, paths: Paths):
    [record] = Path(paths.storage, "session").rglob("*.json")
    record.write_text(json.dumps({**json.loads(record.read_text()), "title": hostile}))
    for command in (["list"], ["tree"], ["show", session_id], ["delete", session_id, "--dry-run"]):
        done = commands.run("session", *command)
        assert (done.code, steering(done.stdout + done.stderr)) == (0, [])


def test_a_fork_prints_its_id_and_is_a_branch_of_the_tree(commands, session_id):
    dry = commands.run("session", "fork", session_id, "--dry-run")
    assert (dry.code, dry.stdout) == (0, "") and 'as "First (fork #1)" with ' in dry.stderr
    done = commands.run("session", "fork", session_id)
    fork_id = done.stdout.strip()
    assert done.code == 0 and f'opencode-tui run -s {fork_id} "…"' in done.stderr
    tree = commands.run("session", "tree").stdout.splitlines()
    assert tree[1].split()[:2] == [session_id, "First"] and "└ fork First (fork #1)" in tree[2]
    messages = [json.loads(commands.run("export", one).stdout)["messages"] for one in (session_id, fork_id)]
    assert len(messages[0]) == len(messages[1]) > 0


def test_a_fork_ends_before_the_message_that_is_named(commands, session_id):
    messages = json.loads(commands.run("export", session_id).stdout)["messages"]
    done = commands.run("session", "fork", session_id, "--message", messages[1]["info"]["id"])
    assert "with 1 message\n" in done.stderr
    assert len(json.loads(commands.run("export", done.stdout.strip()).stdout)["messages"]) == 1
    wrong = commands.run("session", "fork", session_id, "--message", "msg_000000000000doesnotexist00")
    assert wrong.code == 2 and "has no message" in wrong.stderr and len(wrong.stderr.splitlines()) == 1


def test_deleting_a_forked_session_leaves_the_fork_whole(commands, session_id):
    wanted = json.loads(commands.run("export", session_id).stdout)["messages"]
    fork_id = commands.run("session", "fork", session_id).stdout.strip()
    assert "1 fork of it is kept" in commands.run("session", "delete", session_id, "--dry-run").stderr
    assert commands.run("session", "delete", session_id, "--yes").code == 0
    assert len(json.loads(commands.run("export", fork_id).stdout)["messages"]) == len(wanted)
    assert commands.run("session", "tree").stdout.splitlines()[1].split()[0] == fork_id


def test_a_fork_with_a_worktree_says_where_it_is_and_how_it_goes(commands, session_id):
    dry = commands.run("session", "fork", session_id, "--worktree", "--dry-run")
    assert dry.code == 0 and "would create the git worktree" in dry.stderr
    (commands.folder / "new.txt").write_text("new")
    done = commands.run("session", "fork", session_id, "--worktree")
    fork = json.loads(commands.run("export", done.stdout.strip()).stdout)["info"]
    made = Path(fork["directory"])
    assert made.parent == commands.folder.parent and (made / "new.txt").read_text() == "new"
    assert f"cd {made} && opencode-tui run -s {fork['id']}" in done.stderr
    assert f"git worktree remove {made}" in done.stderr


def test_settings_that_cannot_be_read_do_not_hide_sessions(commands, session_id) -> None:
    Path(commands.folder, "opencode.json").write_text("{")
    done = commands.run("session", "list", "--format", "json")
    assert done.code == 0 and [info["id"] for info in json.loads(done.stdout)] == [session_id]
    assert commands.run("stats").code == commands.run("session", "tree").code == 0


def test_a_deletion_that_a_kill_interrupted_is_completed(commands, session_id, paths: Paths) -> None:
    assert commands.run("session", "delete", session_id, "--yes").code == 0
    [entry] = paths.trash.iterdir()
    entry.rename(f"{entry}.deleting")
    assert commands.run("session", "list").code == 0
    assert [*paths.trash.iterdir()] == [entry]
