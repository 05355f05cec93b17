import json

import pytest

from tests.support.hostile.strings import HOSTILE, steering
from tests.support.provider.model_server import ModelServer

pytestmark = pytest.mark.slow


TURN = (
    'do it <<tool read {"filePath":"a.py"}>> <<tool edit {"filePath":"a.py","oldString":"x = 1","newString":"x = 2"}>>'
)
MAKE = '<<tool write {"filePath":"made.txt","content":"one\\ntwo\\n"}>>'


@pytest.fixture
def session(commands):
    """A session whose last turn changed a file and made another."""
    with ModelServer() as server:
        commands.environ["OPENCODE_CONFIG_CONTENT"] = json.dumps({"provider": server.config()})
        first = commands.run("run", "--format", "json", "-m", "fake/fake-model", "hello")
        session_id = json.loads(first.stdout.splitlines()[0])["sessionID"]
        assert commands.run("run", "-m", "fake/fake-model", "-s", session_id, f"{TURN} {MAKE}").code == 0
        yield session_id


def test_the_last_turn_is_undone_and_redone(commands, session):
    source, made = commands.folder / "a.py", commands.folder / "made.txt"
    dry = commands.run("session", "revert", session, "--dry-run")
    assert dry.code == 0 and made.exists() and dry.stdout.startswith("Would undo ")
    done = commands.run("session", "revert", session)
    assert (done.code, source.read_text(), made.exists()) == (0, "x = 1\n", False)
    rows = [line.split() for line in done.stdout.splitlines()]
    assert rows[0][:1] == ["Undid"] and rows[1:] == [
        ["restored", "a.py", "+1", "−1"],
        ["deleted", "made.txt", "+2", "created", "by", "the", "agent"],
    ]
    assert done.stdout.replace("Undid", "Would undo") == dry.stdout and f"session unrevert {session}" in done.stderr
    assert commands.run("session", "unrevert", session, "--dry-run").code == 0 and not made.exists()
    back = commands.run("session", "unrevert", session)
    rows = [line.split() for line in back.stdout.splitlines()[1:]]
    assert rows == [["restored", "a.py", "+1", "−1"], ["restored", "made.txt", "+2"]]
    assert back.code == 0 and back.stdout.startswith("Redid") and made.read_text() == "one\ntwo\n"


@pytest.mark.parametrize(
    ("only", "words"), [("conversation", "files stay as they are"), ("files", "file changes of 5")]
)
def test_the_conversation_or_the_files_can_be_undone_alone(commands, session, only, words):
    made = commands.folder / "made.txt"
    dry = commands.run("session", "revert", session, "--only", only, "--dry-run")
    assert (dry.code, made.exists()) == (0, True) and words in dry.stdout.splitlines()[0]
    done = commands.run("session", "revert", session, "--only", only)
    assert (done.code, made.exists()) == (0, only == "conversation")
    assert done.stdout.replace("Undid", "Would undo") == dry.stdout
    assert commands.run("session", "unrevert", session).code == 0 and made.read_text() == "one\ntwo\n"


def test_what_was_changed_since_is_shown_as_kept(commands, session):
    (commands.folder / "a.py").write_text("mine\n")
    done = commands.run("session", "revert", session)
    [kept] = [line for line in done.stdout.splitlines() if line.startswith("!")]
    assert kept.split()[:3] == ["!", "kept", "a.py"] and "you changed it at " in kept
    assert (done.code, (commands.folder / "a.py").read_text()) == (0, "mine\n")


def test_what_is_undone_is_marked_where_the_session_is_shown(commands, session):
    assert "Undone from" not in commands.run("session", "show", session).stdout
    commands.run("session", "revert", session)
    shown = commands.run("session", "show", session).stdout
    assert shown.index("hello") < shown.index("Undone from here on") < shown.index("do it")


def test_the_changes_of_a_session_and_of_a_turn_are_shown(commands, session):
    text = commands.run("session", "diff", session).stdout
    assert "M a.py  +1 −1" in text and "− x = 1" in text and "+ x = 2" in text and "A made.txt  +2" in text
    found = json.loads(commands.run("session", "diff", session, "--format", "json").stdout)
    assert [(one["file"], one["additions"], one["deletions"]) for one in found] == [("a.py", 1, 1), ("made.txt", 2, 0)]
    messages = json.loads(commands.run("export", session).stdout)["messages"]
    none = commands.run("session", "diff", session, "--message", messages[0]["info"]["id"])
    assert (none.code, none.stdout) == (0, "") and "no file changes" in none.stderr
    unknown = commands.run("session", "diff", session, "--message", "msg_none")
    assert unknown.code == 2 and "msg_none" in unknown.stderr


def test_what_cannot_be_undone_is_one_line(commands, session):
    for arguments, code, words in (
        (["unrevert", session], 1, "nothing to redo"),
        (["revert", session, "--message", "msg_none"], 2, "msg_none"),
        (["revert", session, "--part", "prt_1"], 2, "--message"),
        (["revert", "ses_unknown"], 2, "ses_unknown"),
    ):
        done = commands.run("session", *arguments)
        assert (done.code, done.stdout, len(done.stderr.splitlines())) == (code, "", 1) and words in done.stderr


def test_a_report_can_be_read_by_a_program(commands, session):
    report = json.loads(commands.run("session", "revert", session, "--format", "json").stdout)
    assert [file["path"] for file in report["deleted"]] == [str(commands.folder / "made.txt")]
    assert report["scope"]["requests"] == 1


def test_no_file_name_steers_the_terminal(commands, session):
    name = HOSTILE[0].replace("/", "").replace("\0", "")
    with ModelServer() as server:
        commands.environ["OPENCODE_CONFIG_CONTENT"] = json.dumps({"provider": server.config()})
        call = json.dumps({"filePath": name, "content": "x\n"})
        commands.run("run", "-m", "fake/fake-model", "-s", session, f"<<tool write {call}>>")
    for command in (["diff"], ["revert", "--dry-run"], ["revert"]):
        done = commands.run("session", command[0], session, *command[1:])
        assert (done.code, steering(done.stdout + done.stderr)) == (0, [])


@pytest.mark.parametrize("style", ["text", "json"])
def test_where_undo_is_off_the_dry_run_and_the_undo_say_that_files_stay(commands, style):
    with ModelServer() as server:
        settings = {"provider": server.config(), "snapshot": False}
        commands.environ["OPENCODE_CONFIG_CONTENT"] = json.dumps(settings)
        ran = commands.run("run", "--format", "json", "-m", "fake/fake-model", MAKE)
        session_id = json.loads(ran.stdout.splitlines()[0])["sessionID"]
    assert "undo is off here: `snapshot` is false in your settings" in ran.stderr
    dry = commands.run("session", "revert", session_id, "--dry-run", "--format", style)
    done = commands.run("session", "revert", session_id, "--format", style)
    reason = "undo is off here: `snapshot` is false in your settings"
    for said in (dry, done):
        if style == "json":
            report = json.loads(said.stdout)
            assert (report["unavailable"], len(report["unprotected"])) == (reason, 1)
        else:
            assert f"files unchanged ({reason})" in said.stdout and "made.txt" in said.stdout
    assert (commands.folder / "made.txt").read_text() == "one\ntwo\n"


def test_ignored_files_that_changed_are_named_without_their_content(commands, session):
    (commands.folder / ".gitignore").write_text("*.db\n*.log\n")
    for name in ("rows.db", "old.db", "same.db"):
        (commands.folder / name).write_text("secret rows\n")
    command = "echo x | tee -a rows.db same.db; rm old.db; echo secret > new.log; printf 'secret rows\\n' > same.db"
    call = json.dumps({"command": command, "description": "Change the data"})
    with ModelServer() as server:
        commands.environ["OPENCODE_CONFIG_CONTENT"] = json.dumps({"provider": server.config()})
        first = commands.run("run", "--auto", "--format", "json", "-m", "fake/fake-model", f"go <<tool bash {call}>>")
        assert first.code == 0, first.stderr
        only_ignored = json.loads(first.stdout.splitlines()[0])["sessionID"]
        again = json.dumps({"command": "echo y | tee -a rows.db", "description": "Add a row"})
        commands.run("run", "--auto", "-m", "fake/fake-model", "-s", session, f"go <<tool bash {again}>>")
    shown = commands.run("session", "diff", only_ignored).stdout
    why = "ignored by git, so its content is not shown"
    assert [line for line in shown.splitlines() if line] == [
        f"A new.log  {why}",
        f"D old.db  {why}",
        f"M rows.db  {why}",
    ]
    found = json.loads(commands.run("session", "diff", session, "--format", "json").stdout)
    assert [(one["file"], one["after"], one.get("note")) for one in found if one["file"] != "a.py"] == [
        ("made.txt", "one\ntwo\n", None),
        ("rows.db", "", why),
    ]
    commands.run("session", "revert", only_ignored)
    assert "no file changes" in commands.run("session", "diff", only_ignored).stderr
