"""Programs that help with the project, as language servers and formatters do, inside the sandbox: what they reach, and their end.

A hostile one, as a package of the project may be, tries to write, to read and to send; it answers which attempts worked.
"""

import asyncio
import json
import os
import signal
import socket
from collections.abc import Mapping

import pytest

from opencode_tui.engine.project.programs import Process, Program, Ran, run_program
from opencode_tui.engine.sandbox.piped import PipedProcess, start_piped
from opencode_tui.storage.paths import Paths
from tests.engine.sandbox.conftest import require_tier
from tests.engine.sandbox.test_sandbox import PRIVATE, World
from tests.support.world.machine import PYTHON
from tests.support.world.repo import make_repo
from tests.support.world.waiting import PATIENCE_S

ATTEMPTS: dict[str, str] = {
    "write a file of the project": "open('a.txt', 'a').write('x')",
    "truncate a file of the project": "os.truncate('a.txt', 0)",
    "truncate by opening": "open('a.txt', 'w')",
    "make a file in the project": "open('new', 'w')",
    "make a file in a folder of the project": "open('src/new', 'w')",
    "make a folder in the project": "os.mkdir('folder')",
    "make a link in the project": "os.symlink('a.txt', 'soft')",
    "make a hard link in the project": "os.link('a.txt', 'hard')",
    "make a pipe in the project": "os.mkfifo('pipe')",
    "remove a file of the project": "os.unlink('a.txt')",
    "rename in the project": "os.rename('a.txt', 'b.txt')",
    "rename a folder of the project": "os.rename('src', 'moved')",
    "exchange by rename from temp": "open(T + '/mine', 'w').close(); os.rename(T + '/mine', 'a.txt')",
    "link out of temp": "open(T + '/mine', 'w').close(); os.link(T + '/mine', 'mine')",
    "write through a link in temp": "os.symlink(P + '/a.txt', T + '/way'); open(T + '/way', 'a').write('x')",
    "write through a linked folder": "os.symlink(P, T + '/project'); open(T + '/project/new', 'w')",
    "write a hook of git": "open('.git/hooks/pre-commit', 'w')",
    "write the settings of git": "open('.git/config', 'a').write('x')",
    "write our settings": "os.makedirs('.opencode/plugin'); open('.opencode/plugin/x.py', 'w')",
    "write its own program": "open('node_modules/helper.py', 'a').write('x')",
    "change a program of the project": "os.makedirs('.venv/bin')",
    "write the home": "open(H + '/.bashrc', 'a').write('x')",
    "make a file in the home": "open(H + '/new', 'w')",
    "read a key": "open(H + '/.ssh/id_rsa').read()",
    "read our keys": "open(H + '/.local/share/opencode-tui/auth.json').read()",
    "read another project": "open(H + '/work/other/a.txt').read()",
    "list the home": "assert '.ssh' in os.listdir(H)",
    "write beside the project": "open(P + '/../new', 'w')",
    "write to the system": "open('/usr/local/new', 'w')",
    "write to the temp folder of others": "open(B + '/new', 'w')",
    "read the memory of its parent": "open(f'/proc/{PARENT}/mem', 'rb').read(1)",
    "read the environment of its parent": "open(f'/proc/{PARENT}/environ', 'rb').read(1)",
    "end its parent": "os.kill(PARENT, 0)",
    "connect by TCP": "socket.create_connection(('127.0.0.1', PORT), 2)",
    "connect by IPv6": "socket.create_connection(('::1', PORT), 2)",
    "send by UDP": "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', UDP)); assert OPEN",
    "connect to an abstract socket": "socket.socket(socket.AF_UNIX).connect(chr(0) + NAME)",
    "connect from a child": "sys.exit(subprocess.call([sys.executable, '-S', '-c', CHILD])) if CHILD else None",
    "write from a new session": "subprocess.run(['setsid', 'sh', '-c', 'echo x > a.txt'], check=True)",
}
"""What a helper must not be able to do, as code that raises when it is refused."""

_ALLOWED: dict[str, str] = {
    "read the project": "open('a.txt').read()",
    "list the project": "os.listdir('.')",
    "write its temp folder": "open(T + '/file', 'w').write('x')",
    "write its caches": "open(os.environ['XDG_CACHE_HOME'] + '/file', 'w').write('x')",
    "write an own folder": "open(OWN + '/file', 'w').write('x')",
    "start a program": "subprocess.run(['sh', '-c', 'exit 0'], check=True)",
}

_HELPER = """
import json, os, socket, subprocess, sys
given = json.load(sys.stdin)
T = os.environ["TMPDIR"]
worked = []
for name, code in given["code"].items():
    try:
        exec(code, {**given["names"], "os": os, "socket": socket, "subprocess": subprocess, "sys": sys, "T": T})
    except SystemExit as end:
        if not end.code: worked.append(name)
    except Exception as error:
        print(name, repr(error), file=sys.stderr)
    else:
        worked.append(name)
print(json.dumps(worked))
"""


@pytest.fixture(params=["bubblewrap", "landlock"])
def world(request: pytest.FixtureRequest, paths: Paths, environ: dict[str, str]) -> World:
    require_tier(request.param)
    project = paths.home / "work/project"
    repo = make_repo(project)
    repo.write("a.txt", "a\n")
    repo.write("src/b.txt", "b\n")
    repo.write("node_modules/helper.py", _HELPER)
    repo.commit("begin")
    for name in PRIVATE:
        (paths.home / name).parent.mkdir(parents=True, exist_ok=True)
        (paths.home / name).write_text("CANARY")
    return World(request.param, paths, environ, project)


async def run(world: World, code: Mapping[str, str], **names: object) -> list[str]:
    """Run a hostile helper; return which attempts worked."""
    sandbox = world.sandbox()
    own = world.paths.cache / "own"
    own.mkdir(parents=True)

    async def start(program: Program) -> Process:
        launch = await sandbox.confine_helper(program)
        assert launch is not None, await sandbox.status()
        return await start_piped(launch)

    given = {
        "code": code,
        "names": {
            "P": str(world.project),
            "H": str(world.home),
            "B": str(world.home.parent),
            "OWN": str(own),
            "PARENT": os.getpid(),
            **names,
        },
    }
    ran: Ran = await run_program(
        Program([PYTHON, "-S", str(world.project / "node_modules/helper.py")], world.project, world.environ, (own,)),
        json.dumps(given).encode(),
        limit_s=PATIENCE_S,
        start=start,
    )
    assert ran.code == 0, ran.errors.decode()
    assert (own / "file").exists() == ("write an own folder" in code)
    return json.loads(ran.output)


@pytest.mark.fast_cases("bubblewrap")
async def test_a_hostile_helper_writes_nothing_and_reaches_nothing(world: World) -> None:
    before = {path: path.read_bytes() for path in world.project.rglob("*") if path.is_file()}
    name = f"sandbox-helper-test-{os.getpid()}"
    world.settings["network"] = "on"  # is for commands
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.socket(socket.AF_UNIX) as abstract,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams,
    ):
        abstract.bind("\0" + name)
        abstract.listen()
        datagrams.bind(("127.0.0.1", 0))
        datagrams.setblocking(False)
        port = server.getsockname()[1]
        child = f"import socket; socket.create_connection(('127.0.0.1', {port}), 2)"
        names = {"PORT": port, "UDP": datagrams.getsockname()[1], "NAME": name, "CHILD": child, "OPEN": False}
        assert await run(world, ATTEMPTS, **names) == []
        with pytest.raises(BlockingIOError):
            datagrams.recv(1)
    assert {path: path.read_bytes() for path in world.project.rglob("*") if path.is_file()} == before
    assert len(ATTEMPTS) > 30


@pytest.mark.fast_cases("bubblewrap")
async def test_a_helper_reads_the_project_and_writes_what_is_its_own(world: World) -> None:
    assert await run(world, _ALLOWED) == list(_ALLOWED)


async def test_files_that_are_written_later_can_be_read_also_beside_secrets(world: World) -> None:
    (world.project / ".env").write_text("KEY=CANARY")
    launch = await world.sandbox().confine_helper(
        Program(["sh", "-c", "while read -r name; do cat $name; echo; done"], world.project, world.environ)
    )
    assert launch is not None
    process = await start_piped(launch)
    process.stdin.write(b"a.txt\n")
    assert await asyncio.wait_for(process.stdout.readline(), PATIENCE_S) == b"a\n"
    new = world.project / "new.txt"
    new.write_text("new")
    new.replace(world.project / "a.txt")
    await process.stdout.readline()
    process.stdin.write(b"a.txt\n")
    assert await asyncio.wait_for(process.stdout.readline(), PATIENCE_S) == b"new\n"
    process.stdin.close()
    assert await process.wait() == 0


@pytest.mark.slow_cases("bubblewrap")
async def test_a_helper_that_is_killed_leaves_no_process_of_its_namespace(world: World) -> None:
    text = "setsid sleep 987654 & sleep 987654 & echo started; wait"
    launch = await world.sandbox().confine_helper(Program(["sh", "-c", text], world.project, world.environ))
    assert launch is not None
    process = await start_piped(launch)
    await asyncio.wait_for(process.stdout.readline(), PATIENCE_S)
    import psutil

    children = psutil.Process(process.pid).children(recursive=True)
    assert len(children) >= 2
    os.killpg(process.pid, signal.SIGKILL)
    assert await process.wait() == -signal.SIGKILL
    left = psutil.wait_procs(children, timeout=PATIENCE_S)[1] if world.tier == "bubblewrap" else []
    assert left == []
    for child in children:
        if child.is_running():
            child.kill()


async def test_a_program_that_does_not_exist_fails_with_a_reason(world: World) -> None:
    launch = await world.sandbox().confine_helper(Program(["/nowhere/x"], world.project, world.environ))
    assert launch is not None
    try:
        process: PipedProcess = await start_piped(launch)
    except FileNotFoundError:
        assert world.tier == "landlock"
        return
    errors = await process.stderr.read()
    assert b"/nowhere/x" in errors
    assert await process.wait() == 127
