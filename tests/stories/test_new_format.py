"""A provider format that is added with its row, an encoder and a decoder: settings choose it, requests and answers have it."""

import filecmp
import json
import shutil
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, get_args

import pytest

from opencode_tui.schema.provider_formats import FORMATS, FormatName
from tests.support.source.tree import FORMAT_FILES, files_listing_formats
from tests.support.world.cli import PACKAGE_ROOT, CommandLine

pytestmark = pytest.mark.slow


ROW = 'FORMATS = (\n    FormatRow(name="script", package="script-sdk"),'
ENCODER = '''"""Encoder for requests to a server of scripts: the texts of the conversation."""

import json

from opencode_tui.engine.provider.decode.script_stream import ScriptDecoder
from opencode_tui.engine.provider.formats import ProviderFormat
from opencode_tui.engine.provider.llm import LlmRequest, TextBlock, UserEntry


def encode(request: LlmRequest) -> bytes:
    """Return the body."""
    users = [entry for entry in request.messages if isinstance(entry, UserEntry)]
    lines = [block.text for entry in users for block in entry.content if isinstance(block, TextBlock)]
    return json.dumps({"cast": request.model.api_id, "lines": lines}).encode()


FORMAT = ProviderFormat(
    metadata_key="script",
    path=lambda _: "/perform",
    encode=encode,
    decoder=ScriptDecoder,
    credentials=lambda key: {"x-ticket": key or ""},
)
'''
DECODER = '''"""Decoder for the stream of a server of scripts."""

from opencode_tui.engine.provider.decode.delta import WireDelta, WireEnd, WireFinish, WireText
from opencode_tui.engine.provider.decode.response import StreamDecoder, as_text
from opencode_tui.schema.record import JsonObject


class ScriptDecoder(StreamDecoder):
    """Decodes the bytes of one response to deltas."""

    def read_whole(self, body: JsonObject, deltas: list[WireDelta]) -> None:
        """Append the deltas of an object in the place of a stream."""
        self.read_event(body, deltas)

    def read_event(self, event: JsonObject, deltas: list[WireDelta]) -> None:
        """Append the deltas of one event."""
        if text := as_text(event.get("say")):
            deltas.append(WireText(text))
        if event.get("curtain"):
            deltas += (WireFinish("stop"), WireEnd())
'''


@dataclass
class Theater:
    """A server that speaks the new format, and what it was sent."""

    url: str = ""
    received: list[tuple[str, str, dict[str, Any]]] = field(default_factory=list)


@pytest.fixture
def theater() -> Iterator[Theater]:
    found = Theater()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            found.received.append((self.path, self.headers["x-ticket"], body))
            events = ({"say": "to be "}, {"say": "or not"}, {"curtain": True})
            sent = b"".join(b"data: %s\n\n" % json.dumps(event).encode() for event in events)
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("content-length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        def log_message(self, format: str, *args: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        found.url = f"http://127.0.0.1:{server.server_port}/v9"
        yield found
        server.shutdown()
        thread.join()


@pytest.fixture
def extended(line: CommandLine, tmp_path: Path) -> CommandLine:
    """The program with one format more."""
    root = tmp_path / "program"
    shutil.copytree(PACKAGE_ROOT / "opencode_tui", root / "opencode_tui", ignore=shutil.ignore_patterns("__pycache__"))
    rows = root / "opencode_tui/schema/provider_formats.py"
    text = rows.read_text()
    assert text.count("FORMATS = (") == text.count('"gemini"]\n') == 1
    rows.write_text(text.replace("FORMATS = (", ROW).replace('"gemini"]\n', '"gemini", "script"]\n'))
    decode = root / "opencode_tui/engine/provider/decode"
    (decode / "script_request.py").write_text(ENCODER)
    (decode / "script_stream.py").write_text(DECODER)
    return replace(line, root=root)


def changed_files(root: Path) -> list[str]:
    package = root / "opencode_tui"
    files = (
        path.relative_to(package) for path in package.rglob("*") if path.is_file() and "__pycache__" not in path.parts
    )
    ours = PACKAGE_ROOT / "opencode_tui"
    return [
        str(path) for path in files if not (ours / path).exists() or not filecmp.cmp(ours / path, package / path, False)
    ]


def test_a_row_an_encoder_and_a_decoder_are_a_format(extended: CommandLine, theater: Theater) -> None:
    assert len(changed_files(extended.root)) <= FORMAT_FILES
    models = {"hamlet": {"limit": {"context": 9000, "output": 900}, "cost": {"input": 0, "output": 0}}}
    options = {"baseURL": theater.url, "apiKey": "row-7", "adapter": "script"}
    provider = {"options": options, "models": models}
    globe = replace(extended, provider={"globe": provider}, model="globe/hamlet")
    done = globe.run("run", "-m", "globe/hamlet", "speak the speech")
    assert (done.code, done.stdout.strip()) == (0, "to be or not")
    path, ticket, body = theater.received[0]
    assert (path, ticket, body["cast"]) == ("/v9/perform", "row-7", "hamlet")
    assert "speak the speech" in body["lines"][-1]

    misspelled = {**provider, "options": {**options, "adapter": "scrip"}}
    wrong = replace(globe, provider={"globe": misspelled}).run("run", "-m", "globe/hamlet", "speak")
    assert wrong.code == 2
    assert "provider.globe.options.adapter" in wrong.stderr and "script" in wrong.stderr


def test_every_name_has_a_row() -> None:
    assert [row.name for row in FORMATS] == list(get_args(FormatName))


def test_the_row_is_the_only_file_that_lists_the_formats() -> None:
    assert files_listing_formats(PACKAGE_ROOT) == ["schema/provider_formats.py"]
