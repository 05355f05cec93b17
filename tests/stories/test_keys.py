"""Keys of the user are neither given to commands nor kept in what is stored of a turn."""

import json
from pathlib import Path

import pytest

from opencode_tui.schema.event.screen_event import ScreenToastShown
from opencode_tui.storage.paths import find_paths
from tests.support.provider.model_server import ModelServer
from tests.support.world.engine import opened
from tests.support.world.in_process import Commands
from tests.support.world.repo import Repo, make_repo

pytestmark = pytest.mark.slow


KEY = "sk-CANARY-KEY-5511"


def stored(home: Path) -> list[str]:
    """Return the files below the home that hold the key, but for those with the contents of the user's own files for undo."""
    files = [
        path
        for path in home.rglob("*")
        if path.is_file() and not {"snapshot", "session_diff", "message"} & set(path.parts)
    ]
    assert any("part" in path.parts for path in files)
    return [str(path) for path in files if KEY.encode() in path.read_bytes()]


@pytest.mark.parametrize("tier", ["auto", "none"])
@pytest.mark.parametrize(
    "calls",
    [
        '<<tool bash {"command":"env; echo $OPENAI_API_KEY","description":"x"}>>',
        '<<tool bash {"command":"cat key.txt","description":"x"}>>',
        '<<tool bash {"command":"cat long.txt","description":"x"}>>',
        '<<tool read {"filePath":"key.txt"}>>',
        '<<tool grep {"pattern":"sk-"}>>',
        '<<tool read {"filePath":"key.txt"}>> <<tool edit {"filePath":"key.txt","oldString":"here","newString":"there"}>>',
        '<<tool bash {"command":"head -c 9 key.txt; sleep 0.3; tail -c +10 key.txt; sleep 0.3","description":"x"}>>',
    ],
)
def test_a_key_is_not_stored(
    tmp_path: Path,
    environ: dict[str, str],
    calls: str,
    tier: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    project = tmp_path / "project"
    make_repo(project).commit("begin")
    (project / "key.txt").write_text(f"{KEY} here\n")
    (project / "long.txt").write_text(f"{'x' * 70}{KEY}\n" * 3_000)
    with ModelServer() as model:
        settings = json.dumps({"experimental": {"sandbox": {"tier": tier}}, "provider": model.config()})
        environ = {**environ, "OPENAI_API_KEY": KEY, "OPENCODE_CONFIG_CONTENT": settings}
        done = Commands(project, environ, monkeypatch, capsys).run("run", "--auto", f"go {calls}")
        requests = json.dumps([request.body for request in model.requests])
    assert (done.code, KEY in done.stdout, KEY in requests) == (0, False, False), done.stderr
    assert stored(tmp_path / "home") == []


@pytest.mark.parametrize("damaged", ["{", "[1]", '{"one": 1}', '{"one": {"tokens": ', "\x00\x01", None])
async def test_damaged_sign_ins_to_mcp_servers_stop_no_command_and_are_reported_once(
    project: Repo, environ: dict[str, str], damaged: str | None
) -> None:
    path = find_paths(environ).mcp_auth
    path.parent.mkdir(parents=True, exist_ok=True)

    def store(text: str | None) -> None:
        path.rmdir() if path.is_dir() else path.unlink(missing_ok=True)
        path.mkdir() if text is None else path.write_text(text)

    call = f'<<tool bash {{"command":"echo seen; echo {KEY[:9]}\'\'{KEY[9:]}","description":"x"}}>>'
    settings = {"experimental": {"sandbox": {"tier": "none"}}}
    valid = json.dumps({"one": {"serverUrl": "https://mcp.example", "tokens": {"accessToken": KEY}}})
    outputs: list[str] = []
    async with opened(environ, project.path, settings=settings) as world:
        with world.client.events() as events:
            for text in (damaged, valid, damaged):
                store(text)
                session = await world.prompt(f"go {call}")
                outputs += [one.state.output for one in await world.calls(session)]
            found = list(iter(events.poll, None))
    shown = [one.event.message for one in found if isinstance(one.event, ScreenToastShown)]
    assert [(KEY in output, "[hidden]" in output, "seen" in output) for output in outputs] == [
        (True, False, True),
        (False, True, True),
        (False, True, True),
    ]
    assert [message.startswith(str(path)) for message in shown] == [True]
