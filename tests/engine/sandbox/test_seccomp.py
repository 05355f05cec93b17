"""The filter of tier B: the numbers of its calls, and what the kernel does with them."""

import errno
import json
import os
import platform
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from opencode_tui.engine.sandbox.tiers import landlock as landlock_tier
from opencode_tui.engine.sandbox.tiers import seccomp
from tests.engine.sandbox.confined import Confined
from tests.support.world.machine import PYTHON

HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}
NEWER = {"open_tree_attr"}
"""Calls that the headers of older systems lack."""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="seccomp exists on Linux only")


@pytest.mark.parametrize("machine", seccomp.MACHINES)
def test_the_numbers_are_those_of_the_kernels_headers(machine: str) -> None:
    if not HEADERS[machine].exists():
        pytest.skip("needs the headers of the kernel (linux-libc-dev)")
    text = HEADERS[machine].read_text()
    known = {name: int(number) for name, number in re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", text)}
    ours = {name: number for name, number in seccomp.numbers(machine).items() if name not in NEWER}
    assert ours == {name: known.get(name) for name in ours}


PROBE = """
import ctypes, json, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
found = {}
for name, number in json.loads(sys.argv[1]).items():
    ctypes.set_errno(0)
    libc.syscall(ctypes.c_long(number), *[ctypes.c_long(-1)] * 6)
    found[name] = ctypes.get_errno()
print(json.dumps(found))
"""


SENDS = ("sendto", "sendmsg", "sendmmsg")
"""Filtered for commands that may reach single hosts only."""


def test_each_denied_call_is_not_permitted(landlock: Confined) -> None:
    numbers = seccomp.numbers(os.uname().machine)
    allowed = (
        "ioctl",
        "socket",
        "socketpair",
        "clone",
        "kill",
        "tkill",
        "tgkill",
        "truncate",
        "clone3",
        "seccomp",
        *SENDS,
    )
    signals = ("rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_open")
    denied = {name: number for name, number in numbers.items() if name not in (*allowed, *signals)}
    (landlock.project / "probe.py").write_text(PROBE)
    _, output = landlock.run(f"{PYTHON} probe.py '{json.dumps(denied)}'")
    assert json.loads(output) == dict.fromkeys(denied, errno.EPERM)
    assert len(denied) > 40


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("syscall(56, 0x10000000 | 17, 0, 0, 0, 0)", errno.EPERM),  # clone into a user namespace
        ("syscall(435, 0, 0)", errno.ENOSYS),  # clone3
        ("syscall(0x40000000 + 41, 1, 1, 0)", errno.ENOSYS),  # socket of the x32 kind
        ("socket(2, 1, 0)", errno.EPERM),
        ("socket(16, 3, 0)", errno.EPERM),
        ("socket(1, 1, 0)", 0),
        ("socketpair(1, 1, 0, ctypes.create_string_buffer(8))", 0),
        ("ioctl(0, 0x5412, b'x')", errno.EPERM),
        ("ioctl(0, 0x100005412, b'x')", errno.EPERM),
    ],
)
@pytest.mark.skipif(platform.machine() != "x86_64", reason="numbers of x86-64")
def test_arguments_decide_where_they_must(landlock: Confined, text: str, code: int) -> None:
    script = f"import ctypes; l = ctypes.CDLL(None, use_errno=True); l.{text}; print(ctypes.get_errno())"
    assert landlock.run(f'{PYTHON} -c "{script}"')[1] == f"{code}\n"


def test_threads_and_processes_start(landlock: Confined) -> None:
    script = (
        "import os, threading; t = threading.Thread(target=print, args=[1]); t.start(); t.join(); os.system('echo 2')"
    )
    assert sorted(landlock.run(f'{PYTHON} -c "{script}"')[1].split()) == ["1", "2"]


@pytest.mark.skipif(platform.machine() != "x86_64", reason="calls of 32 bits exist on x86-64")
def test_a_call_of_another_architecture_ends_the_process(landlock: Confined) -> None:
    code = (
        "import ctypes, mmap; m = mmap.mmap(-1, 4096, prot=7); "
        r"m.write(b'\xb8\x14\x00\x00\x00\xcd\x80\xc3'); "  # mov eax, 20; int 0x80; ret
        "a = ctypes.addressof(ctypes.c_char.from_buffer(m)); print(ctypes.CFUNCTYPE(ctypes.c_int)(a)())"
    )
    (landlock.project / "old.py").write_text(code)
    assert landlock.run(f"exec {PYTHON} old.py")[0].exit_code == 128 + signal.SIGSYS


def test_an_unknown_architecture_is_refused() -> None:
    with pytest.raises(OSError, match="no table of system calls for riscv64"):
        seccomp.assemble("riscv64", has_network=False, has_truncate=True, unsignaled=())


@pytest.fixture
def without_scopes(landlock: Confined, monkeypatch: pytest.MonkeyPatch) -> Confined:
    """Tier B as on a kernel whose Landlock knows neither signals nor truncation."""
    monkeypatch.setattr(landlock_tier, "version", lambda: 2)
    return landlock


def test_without_landlocks_help_processes_from_before_get_no_signal(without_scopes: Confined) -> None:
    with subprocess.Popen(["sleep", "60"]) as other:
        targets = f"{other.pid} {os.getpid()} -1 -- -{other.pid}"
        ended, output = without_scopes.run(f"for t in {targets}; do kill -9 $t; done; kill -9 -- -{other.pid}")
        assert ended.exit_code == 1
        assert output.count("Operation not permitted") >= 4
        assert other.poll() is None
        other.kill()


def test_without_landlocks_help_own_processes_get_signals(without_scopes: Confined) -> None:
    ended, output = without_scopes.run("sleep 60 & kill $!; wait $!; echo $?; timeout 0.1 sleep 9; echo $?")
    assert (ended.exit_code, output.split()) == (0, ["143", "124"])


def test_without_landlocks_help_nothing_is_truncated(without_scopes: Confined) -> None:
    victim = without_scopes.outside / "victim"
    victim.write_text("original")
    without_scopes.run(f"{PYTHON} -c 'import os; os.truncate(\"{victim}\", 0)'; : > own")
    assert victim.read_text() == "original"
    assert (without_scopes.project / "own").exists()


def test_a_filter_for_many_processes_fits() -> None:
    program = seccomp.assemble("x86_64", has_network=False, has_truncate=False, unsignaled=tuple(range(1, 3_000)))
    assert len(program) // 8 <= 4_096


def test_bubblewrap_refuses_the_keyrings_and_leaves_other_calls(bubblewrap: Confined) -> None:
    numbers = seccomp.numbers(os.uname().machine)
    chosen = {name: numbers[name] for name in ("add_key", "request_key", "keyctl", "kcmp")}
    (bubblewrap.project / "probe.py").write_text(PROBE)
    _, output = bubblewrap.run(f"{PYTHON} probe.py '{json.dumps(chosen)}'")
    found = json.loads(output)
    assert found.pop("kcmp") != errno.EPERM
    assert found == dict.fromkeys(found, errno.EPERM)


def test_the_calls_of_the_keyrings_have_their_numbers_of_32_bits_too() -> None:
    headers = Path("/usr/include/x86_64-linux-gnu/asm/unistd_32.h")
    if not headers.exists():
        pytest.skip("needs the headers of the kernel (linux-libc-dev)")
    known = dict(re.findall(r"#define __NR_(add_key|request_key|keyctl) (\d+)", headers.read_text()))
    assert sorted(map(int, known.values())) == [286, 287, 288]
    program = seccomp.assemble_key_filter()
    values = {int.from_bytes(program[at + 4 : at + 8], "little") for at in range(0, len(program), 8)}
    assert {0x40000003, 286, 287, 288} <= values
