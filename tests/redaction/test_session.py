"""Records of a session without secrets, personal data and what `.env` files hold."""

import base64
import json

from opencode_tui.redaction.detectors import EMAIL, KEY, PASSWORD
from opencode_tui.redaction.session import _KEPT_FIELDS, ENV_FILE, HOME, OUTPUT, USER, Person, Redactor
from opencode_tui.schema.error import RejectedError
from opencode_tui.schema.session.part import PART, TextPart
from opencode_tui.schema.session.tool_state import details_of
from opencode_tui.text.export.redact import describe_counts, redact_info, redact_messages
from tests.support.rows import each
from tests.support.sessions.records import assistant, call, session_info, text, user

ADA = Person("/home/ada-l", "ada-l")
KEYTEXT = "sk-proj-q7Zr2Vx9Kd4Tn8Bs6Wm1Hc5Jp3Lf0Gy"


def _redacted(part, **options) -> tuple[str, Redactor]:
    redactor = Redactor(ADA, **options)
    return json.dumps(redactor.part(part.to_dict())), redactor


def test_home_folder_and_user_name_are_replaced_in_every_text():
    given = {"filePath": "/home/ada-l/src/a.py"}
    part = call(
        "1", given=given, output="in /home/ada-l/src of ada-l; /home/ada-lovelace stays", details={"cwd": "/home/ada-l"}
    )
    shown, redactor = _redacted(part)
    assert json.loads(shown)["state"]["input"] == {"filePath": "~/src/a.py"}
    assert json.loads(shown)["state"]["output"] == "in ~/src of user; /home/ada-lovelace stays"
    assert (redactor.counts[HOME], redactor.counts[USER]) == (3, 1)


def test_a_name_that_is_an_ordinary_word_is_not_replaced():
    assert Person.of({"USER": "root"}, "/root") == Person("/root", "")
    assert Person.of({"USER": "dev"}, "/home/ada-l") == Person("/home/ada-l", "ada-l")


def test_what_a_tool_read_from_an_env_file_is_left_out():
    for tool in ("read", "write", "edit"):
        part = call(
            "1",
            tool,
            given={"filePath": "/p/.env.local", "content": "A=hunter2"},
            output="A=hunter2",
            details={"diff": "+A=hunter2"},
        )
        shown, redactor = _redacted(part)
        assert "hunter2" not in shown and "/p/.env.local" in shown
        assert redactor.counts[ENV_FILE] == 1


def test_values_of_an_env_file_in_the_output_of_a_command_are_left_out():
    part = call(
        "1",
        "bash",
        given={"command": "cat .env | head"},
        output="A=hunter2\nexport B='x y'\n# note",
        details={"output": "A=hunter2"},
    )
    shown, _ = _redacted(part)
    assert "hunter2" not in shown and "x y" not in shown and "# note" in shown


ENV_FILES = (
    ".env", ".env.local", ".env.production", ".env.production.local", ".env.test.local", ".env-prod", ".env_prod", ".env~",
    ".env.bak", "prod.env", "config/secrets.env", ".envrc", ".flaskenv", ".dev.vars", ".dev.vars.staging", ".ENV",
    ".npmrc", ".pypirc", ".my.cnf", ".envs/.production/.django", ".netrc", ".pgpass", ".git-credentials",
    ".docker/config.json", ".kube/config", ".aws/credentials",
)  # fmt: skip
"""Files of dotenv-flow, Next.js, Vite, direnv, Flask, wrangler, cookiecutter, and those in which tools keep their logins."""

SHOWN_FILES = (
    ".env.example", ".env.local.example", ".env.sample", ".env.production.template", ".env.dist", "environment.py", ".environ",
    "config.json", "kube/config.md", "envelope.txt",
)  # fmt: skip


@each("name", ENV_FILES)
def test_a_file_with_secrets_is_left_out_however_it_is_named(name: str):
    value = "GREETING=good-morning"
    path = f"/p/{name}"
    given = (
        call("1", given={"filePath": path}, output=value),
        call("2", "write", given={"filePath": path, "content": value}, output="ok"),
        call("3", "bash", given={"command": f"cat {path} | sort"}, output=f"{value}\n", details={"output": value}),
        call("4", "bash", given={"command": f"head <{path}"}, output=f"{value}\n"),
        call("5", "grep", given={"pattern": "GREET", "path": path}, output=value),
    )
    for part in given:
        assert "good-morning" not in _redacted(part)[0], part
    for diff in ({"before": value}, {"after": value}, {"patch": f"+{value}"}, {"hunks": value, "additions": 1}):
        assert "good-morning" not in json.dumps(Redactor(ADA).diffs([{"file": name, "status": "modified", **diff}]))


@each("name", SHOWN_FILES)
def test_a_file_without_secrets_is_shown(name: str):
    part = call("1", given={"filePath": f"/p/{name}"}, output="GREETING=good-morning")
    assert "good-morning" in _redacted(part)[0]


@each(
    ("command", "is_hidden"),
    [
        ("cat {.env,.env.local}", True),
        ("cat .env*", True),
        ("grep -r A= . .env.production.local", True),
        ("docker run --env-file=prod.env x", True),
        ("cat <.env", True),
        ("cat .env.", True),
        ("cat .env.example .env", True),
        ("grep -rn process.env src", False),
        ("grep -rn import.meta.env.MODE src", False),
        ("node -p process.env", False),
        ("cat .env.example", False),
        ("ls environment", False),
    ],
)
def test_a_command_about_an_env_file_shows_no_value(command: str, is_hidden: bool):
    shown, _ = _redacted(call("1", "bash", given={"command": command}, output="GREETING=good-morning\n"))
    assert ("good-morning" in shown) != is_hidden


def test_a_value_of_several_lines_in_the_output_of_a_command_is_left_out():
    output = "A=\"first\nsecond\nthird\"\nB='fourth\nfifth'\n# a comment\n"
    shown = json.loads(_redacted(call("1", "bash", given={"command": "cat .env"}, output=output))[0])["state"]["output"]
    assert shown == "A=[hidden:env-file]\nB=[hidden:env-file]\n# a comment\n"


def test_an_example_of_an_env_file_is_shown():
    shown, redactor = _redacted(call("1", given={"filePath": "/p/.env.example"}, output="A=put yours here"))
    assert "put yours here" in shown and not redactor.counts.total()


def test_changes_of_an_env_file_have_no_content():
    diffs = [
        {"file": ".env", "before": "A=hunter2", "after": "A=hunter3"},
        {"file": "a.py", "before": "1", "after": "2"},
    ]
    shown = Redactor(ADA).diffs(diffs)
    assert shown == [{"file": ".env", "before": "", "after": ""}, diffs[1]]


def test_outputs_of_chosen_tools_are_left_out():
    shown, redactor = _redacted(
        call("1", "bash", given={"command": "ls"}, output="private", details={"output": "private"}), tools=["bash"]
    )
    assert "private" not in shown and '"ls"' in shown and redactor.counts[OUTPUT] == 1
    shown, _ = _redacted(text(f"key {KEYTEXT}"), tools=["bash"], is_full=False)
    assert KEYTEXT in shown


def test_what_an_error_of_a_chosen_tool_is_about_is_left_out_with_its_text():
    details = details_of(RejectedError("private words", subject="private call"))
    given = {name: value for name, value in vars(details).items() if value is not None}
    failed = call("1", "bash", status="error", output="private").state.changed(**given)
    part = call("1", "bash").changed(state=failed)
    kept = json.loads(_redacted(part)[0])["state"]
    assert (kept["feedback"], kept["subject"]) == ("private words", "private call")
    shown, _ = _redacted(part, tools=["bash"])
    assert "private" not in shown and "feedback" not in shown


def test_a_field_with_the_name_of_a_secret_has_no_value():
    shown, redactor = _redacted(
        call("1", "deploy", given={"password": "abcd efgh", "max_tokens": "4096", "apiKey": "zz-top-1"})
    )
    assert "abcd efgh" not in shown and "zz-top-1" not in shown and "4096" in shown
    assert redactor.counts[PASSWORD] == 2


@each("name", sorted(_KEPT_FIELDS))
def test_an_argument_with_the_name_of_a_field_of_ours_is_searched(name: str):
    key = f"ghp_{'a1B2c3D4' * 4}"
    part = call("1", "deploy", given={name: key, "inner": [{name: f"{key} x"}]}, details={name: key})
    assert key not in _redacted(part)[0]


@each("name", sorted(_KEPT_FIELDS))
def test_a_field_of_ours_keeps_its_value(name: str):
    for value in (
        "prt_0193b7c8d9e0AbCdEfGhIjKlMn",
        "ada-l/model",
        "3f9a1c7be4d20586af13c9e7d0b2465f3f9a1c7b",
        "call_0af3",
        "bash",
    ):
        assert Redactor(ADA).value({name: value}) == {name: value}


def test_secrets_in_an_attached_text_are_replaced_and_pictures_are_not_touched():
    data = base64.b64encode(f"key: {KEYTEXT}".encode()).decode()
    redactor = Redactor(ADA)
    found = redactor.value({"url": f"data:text/plain;base64,{data}"})["url"]
    assert KEYTEXT not in base64.b64decode(found.partition(",")[2]).decode()
    picture = "data:image/png;base64,AKIAQ7ZR2VX9KD4TN8BS+/=="
    assert redactor.value({"url": picture}) == {"url": picture}


def test_a_line_that_still_grows_waits_for_its_end():
    grown = TextPart(id="prt_1", session_id="s", message_id="m", text="done\nthe key is sk-pro", time={"start": 1})  # pyright: ignore[reportArgumentType] - validated
    shown, _ = _redacted(grown)
    assert json.loads(shown)["text"] == "done\n"
    running = call("1", "bash", status="running", given={"command": "x"}, details={"output": "a\nPASSWORD=hun"})
    assert json.loads(_redacted(running)[0])["state"]["metadata"]["output"] == "a\n"


def test_known_secrets_are_replaced_first():
    shown, redactor = _redacted(text("pass is correct-horse"), known=lambda one: one.replace("correct-horse", "***"))
    assert "correct-horse" not in shown and redactor.counts[KEY] == 1


def test_a_whole_session_stays_valid_and_its_report_names_every_kind():
    request = user(f"mail ada@lovelace.org, key {KEYTEXT}", text("in /home/ada-l by ada-l"))
    answer = assistant(call("1", given={"filePath": "/p/.env"}, output="A=hunter2"), "ok", parent=request)
    redactor = Redactor(ADA, tools=["webfetch"])
    info = redact_info(session_info(directory="/home/ada-l/p", title=f"About {KEYTEXT}"), redactor)
    messages = list(redact_messages([request, answer], redactor))
    assert (info.directory, info.title) == ("~/p", f"About [hidden:{KEY}]")
    assert [[part.type for part in message.parts] for message in messages] == [["text", "text"], ["tool", "text"]]
    assert [PART.validate_python(part.to_dict()) for message in messages for part in message.parts]
    assert redactor.counts[EMAIL] == 1
    assert describe_counts(redactor.counts) == (
        "2 keys, 1 e-mail address, 2 mentions of the home folder, 1 mention of the user name, 1 value of an .env file"
    )
