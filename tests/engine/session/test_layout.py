import io
import json
import os
import tarfile
from pathlib import Path

import pytest

from opencode_tui.client.local import open_client
from opencode_tui.engine.permission.policy import RefuseQuestions
from opencode_tui.schema.api.request import CreateSession, PromptInput, TextInput
from opencode_tui.schema.model import ModelRef
from tests.support.provider.model_server import ModelServer, provider_config

ARCHIVE = Path(__file__).parents[2] / "schema" / "data" / "opencode-fixtures.tar.gz"
PROMPT = """work <<reason why>> <<tool read {"filePath":"a.txt"}>>
<<tool edit {"filePath":"a.txt","oldString":"one","newString":"two"}>>
<<tool todowrite {"todos":[{"content":"x","status":"pending","priority":"high","id":"1"}]}>> <<tool read {"filePath":"gone"}>>"""
LATER = {"snapshot"}
"""Keys that undo adds."""


def kind_of(path: str, record) -> str | None:
    kind = path.split("/")[0]
    if kind == "message":
        return record["role"]
    if kind == "part":
        status = record.get("state", {}).get("status", "")
        return f"{record['type']} {status}".strip()
    return kind if kind in ("session", "todo") else None


def common_keys(records) -> dict[str, set[str]]:
    """Return for each kind the dotted keys that all its records have, two levels deep."""
    found: dict[str, set[str]] = {}
    for path, record in records:
        kind = kind_of(path, record)
        if kind is None or not record:
            continue
        plain = record[0] if isinstance(record, list) else record
        keys = set(plain)
        for name in ("time", "state", "tokens", "model", "path"):
            if isinstance(plain.get(name), dict):
                keys |= {f"{name}.{key}" for key in plain[name]}
        found[kind] = found.get(kind, keys) & keys
    return found


def fixture_records():
    with tarfile.open(ARCHIVE) as archive:
        for member in archive.getmembers():
            _, found, path = member.name.partition("/data/opencode/storage/")
            if found and path.endswith(".json"):
                yield path, json.loads((archive.extractfile(member) or io.BytesIO()).read())


@pytest.fixture
async def made_by_us(environ, paths, tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.txt").write_text("one\n")
    with ModelServer() as server:
        environ["OPENCODE_CONFIG_CONTENT"] = json.dumps({"provider": provider_config(server.base_url)})
        async with open_client(environ, folder, policy=RefuseQuestions()) as client:
            session = await client.sessions.create(CreateSession())
            model = ModelRef(provider_id="fake", model_id="fake-model")
            await client.prompts.prompt(session.id, PromptInput(model=model, parts=[TextInput(text=PROMPT)]))
    assert (folder / "a.txt").read_text() == "two\n"
    root = paths.storage
    records = [(os.path.relpath(path, root), json.loads(path.read_bytes())) for path in root.rglob("*.json")]
    assert len(records) > 10
    return records


@pytest.mark.slow
async def test_no_key_that_opencode_always_writes_is_missing(made_by_us):
    theirs, ours = common_keys(fixture_records()), common_keys(made_by_us)
    assert {"session", "user", "assistant", "text", "tool completed", "tool error", "step-start", "todo"} <= set(ours)
    missing = {kind: theirs[kind] - ours[kind] - LATER for kind in ours if kind in theirs}
    assert {kind: keys for kind, keys in missing.items() if keys} == {}


async def test_records_lie_where_opencode_looks_for_them(made_by_us):
    for path, record in made_by_us:
        kind, *rest = path.removesuffix(".json").split("/")
        match kind:
            case "session":
                assert rest == [record["projectID"], record["id"]]
            case "message":
                assert rest == [record["sessionID"], record["id"]]
            case "part":
                assert rest == [record["messageID"], record["id"]]
            case "project":
                assert rest == [record["id"]]
            case _:
                assert kind in ("todo", "permission", "session_diff", "session_prefix")


@pytest.mark.slow
async def test_every_key_of_ours_is_one_that_opencode_knows(made_by_us):
    # `metadata` of texts and thoughts is OpenCode's too (docs/internals/session.md#parts); its scripted model sent none.
    allowed = {
        "session": {"metadata"},
        "text": {"metadata"},
        "reasoning": {"metadata"},
        "patch": {"after"},
        "compaction": {"tailID"},
    }
    theirs: dict[str, set[str]] = {}
    for path, record in fixture_records():
        kind = kind_of(path, record)
        if kind and isinstance(record, dict):
            theirs.setdefault(kind.split()[0], set()).update(record)
    for path, record in made_by_us:
        kind = (kind_of(path, record) or "").split(" ")[0]
        if kind in theirs and isinstance(record, dict):
            assert set(record) - theirs[kind] - allowed.get(kind, set()) == set(), path
