"""Shared sessions at an address, from a real HTTP server, as OpenCode's share server answers."""

import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from opencode_tui.extras.importing.export_file import ExportFile
from opencode_tui.schema.error import ConfigError, StorageError
from tests.support.importing.desk import Desk
from tests.support.importing.fixtures import unpack


@contextmanager
def serving(answers: dict[str, bytes]) -> Generator[str]:
    """Serve these paths and yield the address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = answers.get(self.path)
            self.send_response(200 if body is not None else 404)
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, format: str, *args: Any) -> None:
            del format, args

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def shared_items(data: Path) -> tuple[str, list[dict[str, Any]]]:
    """Return the id of a session of a store and its data as a share has it: parts before their messages, an older state too."""
    [record] = [path for path in (data / "storage" / "session").rglob("*.json") if "(fork" in path.read_text()]
    info = json.loads(record.read_text())
    messages = [json.loads(path.read_text()) for path in (data / "storage" / "message" / info["id"]).iterdir()]
    parts = [
        json.loads(path.read_text()) for one in messages for path in (data / "storage" / "part" / one["id"]).iterdir()
    ]
    older = {"type": "session", "data": {**info, "title": "older"}}
    items = [older, *({"type": "part", "data": part} for part in reversed(parts))]
    items += [{"type": "message", "data": message} for message in reversed(messages)]
    return info["id"], [*items, {"type": "model", "data": [{"id": "m"}]}, {"type": "session", "data": info}]


def test_a_shared_session_is_imported_from_its_address(desk: Desk, tmp_path: Path):
    data = unpack("1.1.65", tmp_path / "opencode")
    session_id, items = shared_items(data)
    with serving({"/api/share/abc/data": json.dumps(items).encode()}) as address:
        report = desk.run_from([ExportFile(f"{address}/share/abc", here=str(tmp_path))])
        again = desk.run_from([ExportFile(f"{address}/share/abc", here=str(tmp_path))])
    assert (report.new, report.problems, again.new, again.records) == (1, [], 0, 0)
    here = {path: json.loads(record) for path, record in desk.records().items()}
    [session] = [record for path, record in here.items() if path.startswith("session/")]
    assert (session["id"], session["title"], session["directory"]) == (
        session_id,
        "Title: alpha beta (fork #1)",
        str(tmp_path),
    )
    assert len([path for path in here if path.startswith("message/")]) == 18
    for path, record in here.items():
        if path.startswith(("message/", "part/")):
            there = json.loads((data / "storage" / path).read_text())
            assert record == {key: value for key, value in there.items() if key not in ("snapshot", "tools")}


def test_an_address_without_a_share_is_named(desk: Desk, tmp_path: Path):
    with serving({"/page": b"<!doctype html>", "/api/share/empty/data": b"[]"}) as address:
        with pytest.raises(StorageError, match="answered 404"):
            desk.run_from([ExportFile(f"{address}/share/gone", here=str(tmp_path))])
        with pytest.raises(ConfigError, match="is not an exported session"):
            desk.run_from([ExportFile(f"{address}/page", here=str(tmp_path))])
        with pytest.raises(ConfigError, match="shares no session"):
            desk.run_from([ExportFile(f"{address}/share/empty", here=str(tmp_path))])
    with pytest.raises(StorageError, match="cannot read"):
        desk.run_from([ExportFile(f"{address}/share/abc", here=str(tmp_path))])
    assert desk.records() == {}
