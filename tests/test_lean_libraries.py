"""Libraries load without what the program does not use, and do the same."""

import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from opencode_tui.lean_libraries import lock_descriptor, unlock_descriptor
from tests.support.provider.model_server import ModelServer, provider_config
from tests.support.provider.network_world import make_authority, open_proxy, open_tls
from tests.support.world.cli import CommandLine

_PROGRAM = """
import sys, typing
from opencode_tui import lean_libraries
environ = {}
lean_libraries.prepare(environ)
import pydantic, pydantic_core.core_schema as schemas, typing_extensions
lean_libraries.prepare(environ)
assert [type(one).__name__ for one in sys.meta_path].count("_Finder") == 1 and environ == {lean_libraries.PLUGIN_SCAN: "__all__"}
assert not hasattr(schemas.StringSchema, "__required_keys__"), "the types were built"
assert schemas.str_schema(min_length=1) == {"type": "str", "min_length": 1}
class Point(typing_extensions.TypedDict):
    x: int
    label: typing_extensions.NotRequired[str]
adapter = pydantic.TypeAdapter(list[Point])
assert adapter.validate_python([{"x": "1"}]) == [{"x": 1}]
assert adapter.json_schema()["$defs"]["Point"]["required"] == ["x"]
import asyncio, textual.app, textual.suggestions
kept = textual.dom.DOMNode.screen.fget.__builtins__
assert type(kept) is dict and kept["__import__"] is __import__, "its functions import slowly"
async def talk():
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    assert await reader.read() == b""
    writer.close()
    server.close()
asyncio.run(talk())
import hashlib, hmac, shutil, click, markdown_it
parser = markdown_it.MarkdownIt("gfm-like", {"linkify": False})
assert parser.render("*a*") == "<p><em>a</em></p>\\n"
late = {"ssl", "asyncio.sslproto", "platformdirs", "difflib", "mimetypes", "rich.table", "pickle", "bz2", "lzma", "platform"}
assert not (late | {"_hashlib", "linkify_it", "html.entities"}) & {*sys.modules}
assert parser.render("&amp; &copy; [a](/&auml;)") == f"<p>&amp; © <a href={chr(34)}/%C3%A4{chr(34)}>a</a></p>\\n"
assert hashlib.new("sha1", b"a").digest() == hashlib.sha1(b"a").digest() and hmac.new(b"a", b"b", "sha256").digest()
assert hmac.compare_digest("a", "a") and "_hashlib" not in sys.modules
assert hashlib.new("sha512_256", b"a").name == "sha512_256" and "_hashlib" in sys.modules
assert hashlib.pbkdf2_hmac("sha256", b"a", b"b", 1).hex().startswith("ee212b")
assert len(hashlib.scrypt(b"a", salt=b"b", n=2, r=1, p=1)) == 64
try:
    hashlib.new("nothing")
except ValueError:
    pass
else:
    raise AssertionError("there is such a hash")
parser.options["linkify"] = True
assert parser.render("see http://a.test") == '<p>see <a href="http://a.test">http://a.test</a></p>\\n'
assert shutil.get_archive_formats() and click.UsageError("no").format_message() == "no"
assert textual.app.user_downloads_path().is_absolute()
import ssl
context = ssl.create_default_context()
assert asyncio.base_events.ssl.SSLContext is ssl.SSLContext and asyncio.base_events.ssl.SSLSocket is ssl.SSLSocket
assert asyncio.selector_events.sslproto.SSLProtocol is __import__("asyncio.sslproto").sslproto.SSLProtocol
import httpx
assert httpx.get and not {"rich.markdown", "pygments"} & {*sys.modules}
with open(sys.argv[1], "w") as file, open(sys.argv[1]) as other:
    assert lean_libraries.lock_descriptor(file.fileno())
    assert not lean_libraries.lock_descriptor(other.fileno())
    import filelock
    assert filelock.SoftFileLease and not filelock.lock_descriptor(other.fileno(), blocking=False)
    lean_libraries.unlock_descriptor(file.fileno())
    assert filelock.lock_descriptor(other.fileno(), blocking=False)
assert "textual.widgets._directory_tree" not in sys.modules
import annotated_types as types, dataclasses
assert "method" in types.Gt.__eq__.__code__.co_freevars, "the methods were compiled"
assert types.Gt(1) == types.Gt(gt=1) != types.Gt(2) and hash(types.Gt(1)) == hash(types.Gt(1))
assert repr(types.Len(1, 2)) == "Len(min_length=1, max_length=2)"
try:
    types.Gt(1).gt = 2
except dataclasses.FrozenInstanceError:
    pass
else:
    raise AssertionError("it can be changed")
core = lean_libraries.part("httpcore", "_async.connection_pool")
import httpcore
assert core.AsyncConnectionPool is not httpcore.AsyncConnectionPool and httpcore.ConnectionPool
command = lean_libraries.git_command()
assert lean_libraries.git_command() is command and not {"git", "git.cmd", "gitdb"} & {*sys.modules}
assert command.Git().execute([sys.executable, "-c", "print(1)"]) == "1"
import git
assert git.Git is not command.Git and git.Repo and git.Git().version_info
try:
    adapter.validate_python([{}])
except pydantic.ValidationError as error:
    assert error.errors()[0]["loc"] == (0, "x")
"""


@pytest.mark.slow
def test_they_work_without_the_parts_that_are_left_out(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(tmp_path / "file")],
        env={**os.environ, "PYTHONPATH": os.getcwd()},
        check=False,
    )
    assert done.returncode == 0


_OPENSSL_ALONE = """
import sys
from opencode_tui import lean_libraries
sys.modules["_sha1"] = None
lean_libraries.prepare({})
import hashlib, hmac
from opencode_tui.engine.snapshot.objects import sums
assert "_hashlib" in sys.modules and hashlib.sha1(b"a").digest() == sums.sha1(b"a").digest()
assert hmac.new(b"a", b"b", "sha256").digest() and hashlib.scrypt(b"a", salt=b"b", n=2, r=1, p=1)
"""


def test_a_python_without_hashes_of_its_own_takes_those_of_openssl() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _OPENSSL_ALONE],
        env={**os.environ, "PYTHONPATH": os.getcwd()},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_file_is_locked_between_two_that_opened_it(tmp_path: Path) -> None:
    with (tmp_path / "file").open("w") as first, (tmp_path / "file").open() as second:
        assert (lock_descriptor(first.fileno()), lock_descriptor(second.fileno())) == (True, False)
        unlock_descriptor(first.fileno())
        assert lock_descriptor(second.fileno())


@pytest.mark.fast_cases("through a proxy")
@pytest.mark.parametrize("through_proxy", [False, True], ids=["directly", "through a proxy"])
def test_a_prompt_is_sent_over_tls(tmp_path: Path, environ: dict[str, str], *, through_proxy: bool) -> None:
    authority = make_authority(tmp_path, "api.company.test")
    with ModelServer() as server, ExitStack() as opened:
        port = opened.enter_context(open_tls(authority, urlsplit(server.base_url).port or 0))
        variables = {**environ, "SSL_CERT_FILE": str(authority.path)}
        place = f"127.0.0.1:{port}"
        if through_proxy:
            proxy = opened.enter_context(open_proxy({"api.company.test": port}))
            variables |= {"HTTPS_PROXY": proxy.url, "NO_PROXY": ""}
            place = "api.company.test"
        line = CommandLine(
            tmp_path, variables, provider=provider_config(f"https://{place}{urlsplit(server.base_url).path}")
        )
        done = line.turn("hello")
    assert done.code == 0 and server.requests, done.stderr
