"""Nothing blocks the loop of a server, an editor's session or the screen: files and locks are opened and read on threads."""

from pathlib import Path

import pytest

from tests.support.source.blocking_calls import Finding, find_blocking_calls

PACKAGE = Path(__file__).parents[1] / "opencode_tui"
FOLDERS = ("server", "acp", "bus", "extras/share_server", "extras/pty", "tui")

ALLOWED = {
    "server/peer.py::_read .read_text": "a file of /proc, which no disk holds up",
    "server/serving.py::open_socket socket.getaddrinfo": "before the server accepts anything",
    "extras/pty/terminals.py::write os.write": "a descriptor that does not block",
    "extras/pty/terminals.py::_read os.read": "a descriptor that does not block",
    "tui/external_editor.py::_run subprocess.run": "the screen waits for the editor that has its terminal",
    "programs.py::find_program shutil.which": "looks at the folders of PATH for a program that is started next",
    "programs.py::_writable os.stat": "as find_program",
    "programs.py::_writable os.path.realpath": "as find_program",
    "programs.py::_writable os.path.lexists": "as find_program",
    "programs.py::_work_tree os.path.lexists": "as find_program",
    "programs.py::python_environ os.path.realpath": "the program's own folder",
}
"""What may block, with the reason."""


@pytest.mark.slow
def test_nothing_on_a_loop_opens_reads_or_locks_a_file() -> None:
    found = {f"{one.file}::{one.function} {one.what}": one.root for one in find_blocking_calls(PACKAGE, FOLDERS)}
    assert {name: root for name, root in found.items() if name not in ALLOWED} == {}
    assert [name for name in ALLOWED if name not in found] == [], "these do not block any more"


@pytest.mark.parametrize(
    ("source", "what"),
    [
        ("async def f(path):\n    return path.read_text()", "f .read_text"),
        ("async def f(path):\n    with open(path) as file:\n        return file.read()", "f open"),
        ("async def f(path):\n    return os.open(path, os.O_RDONLY)", "f os.open"),
        ("async def f(file):\n    fcntl.flock(file, fcntl.LOCK_EX)", "f .flock"),
        ("async def f(lock):\n    lock.acquire_sync()", "f .acquire_sync"),
        ("async def f(path):\n    return path.stat().st_size", "f .stat"),
        ("async def f():\n    time.sleep(1)", "f time.sleep"),
        ("def g(path):\n    return path.exists()\nasync def f(path):\n    return g(path)", "g .exists"),
        ("class A:\n    def g(self):\n        os.listdir()\n    async def f(self):\n        self.g()", "g os.listdir"),
        ("@contextmanager\ndef g():\n    yield os.open('x')\nasync def f():\n    with g():\n        pass", "g os.open"),
        ("class A:\n    def connection_made(self, transport):\n        open('x')", "connection_made open"),
        ("def g():\n    open('x')\nasync def f(loop):\n    loop.call_later(1, g)", "g open"),
        ("from package.other import h\nasync def f():\n    h()", "h os.stat"),
        ("async def f(path):\n    return [one.read_bytes() for one in path]", "f .read_bytes"),
    ],
)
def test_the_search_finds_what_blocks_a_loop(tmp_path: Path, source: str, what: str) -> None:
    assert [f"{one.function} {one.what}" for one in _found(tmp_path, source)] == [what]


@pytest.mark.parametrize(
    "source",
    [
        "async def f(path):\n    return await asyncio.to_thread(path.read_text)",
        "def g(path):\n    return path.read_text()\nasync def f(path):\n    return await asyncio.to_thread(g, path)",
        "async def f(path):\n    return await asyncio.to_thread(lambda: path.read_text())",
        "async def f(client):\n    return await client.read_text()",
        "def g(path):\n    return path.read_text()",
        "def g(path):\n    yield path.read_text()\nasync def f(path):\n    return Response(g(path))",
    ],
)
def test_the_search_accepts_what_runs_on_a_thread(tmp_path: Path, source: str) -> None:
    assert _found(tmp_path, source) == []


def _found(tmp_path: Path, source: str) -> list[Finding]:
    package = tmp_path / "package"
    (package / "server").mkdir(parents=True)
    (package / "server" / "module.py").write_text(source)
    (package / "other.py").write_text("def h():\n    os.stat('x')\n")
    return find_blocking_calls(package, ("server",))
