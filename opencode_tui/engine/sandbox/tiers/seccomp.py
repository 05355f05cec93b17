"""The seccomp filter of tier B: system calls that would go round Landlock fail with "operation not permitted".

`clone3` fails with "not implemented", so that libraries use `clone`, whose flags a filter can read. Another architecture's calls
(32 bits) end the process; the x32 numbers of x86-64 are not implemented.
"""

import ctypes
import errno
import os
import struct
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache

_LOAD, _AND, _IF_EQUAL, _IF_AT_LEAST, _IF_ANY_BIT, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x45, 0x06
_NUMBER_AT, _ARCHITECTURE_AT, _FIRST_ARGUMENT_AT, _SECOND_ARGUMENT_AT = 0, 4, 16, 24  # little endian: the low half
_THIRD_ARGUMENT_AT, _FOURTH_ARGUMENT_AT = 32, 40
_ALLOW, _KILL_PROCESS, _ERROR, _REPORT = 0x7FFF0000, 0x80000000, 0x00050000, 0x7FC00000
_NAMESPACES = 0x7E020000
"""CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET."""
_X32 = 0x40000000
_UNIX, _IPV4, _IPV6 = 1, 2, 10
_STREAM, _TYPE_BITS = 1, 0xF
_FAST_OPEN = 0x20000000
"""The flag of MSG_FASTOPEN, which connects a socket unseen by Landlock."""
_FAKED_INPUT = (0x5412, 0x541C)
"""The requests of `ioctl` that type into a terminal: TIOCSTI, TIOCLINUX."""
_MOST_PROCESSES = 900
"""A filter has at most 4,096 instructions; each process needs four."""
_SET_FILTER, _SPECULATE, _NO_NEW_PRIVILEGES = 1, 4, 38
_WITH_LISTENER = 0x28
"""Reports go to a new listener; a call that was reported is not interrupted by a signal."""

# Names and numbers of the calls: x86-64, aarch64.
_CALLS: dict[str, tuple[int, int]] = {
    "ioctl": (16, 29),
    "socket": (41, 198),
    "socketpair": (53, 199),
    "sendto": (44, 206),
    "sendmsg": (46, 211),
    "sendmmsg": (307, 269),
    "clone": (56, 220),
    "kill": (62, 129),
    "tkill": (200, 130),
    "tgkill": (234, 131),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "pidfd_open": (434, 434),
    "truncate": (76, 45),
    "clone3": (435, 435),
    "seccomp": (317, 277),
}
_DENIED: dict[str, tuple[int, int]] = {
    # other processes
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "kcmp": (312, 272),
    "pidfd_getfd": (438, 438),
    "perf_event_open": (298, 241),
    # system calls by another way, and files by a handle or by watching
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "open_by_handle_at": (304, 265),
    "fanotify_init": (300, 262),
    # namespaces and mounts
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "open_tree": (428, 428),
    "open_tree_attr": (467, 467),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    # the kernel, its keys and the machine
    "bpf": (321, 280),
    "userfaultfd": (323, 282),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "reboot": (169, 142),
    "syslog": (103, 116),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "acct": (163, 89),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
}
_ONLY_X86: dict[str, int] = {"iopl": 172, "ioperm": 173}

# The position in the tables, and the number by which the kernel names the architecture.
MACHINES: dict[str, tuple[int, int]] = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}

# The calls of the kernel's keyrings (`add_key`, `request_key`, `keyctl`) by architecture, with those of 32 bits.
_KEY_CALLS = {
    0xC000003E: (248, 249, 250, 248 | _X32, 249 | _X32, 250 | _X32),
    0x40000003: (286, 287, 288),
    0xC00000B7: (217, 218, 219),
    0x40000028: (309, 310, 311),
}

Instruction = tuple[int, int, int, int]


def numbers(machine: str) -> dict[str, int]:
    """Return the numbers of all calls that the filter names."""
    column = MACHINES[machine][0]
    found = {name: pair[column] for name, pair in (*_CALLS.items(), *_DENIED.items())}
    return found | (_ONLY_X86 if machine == "x86_64" else {})


@lru_cache(maxsize=8)
def assemble(
    machine: str, *, has_network: bool, has_truncate: bool, unsignaled: tuple[int, ...], reports_tcp: bool = False
) -> bytes:
    """Return the filter as the kernel reads it.

    With `reports_tcp` it reports the creation of TCP sockets to a listener (`sockets.py`). With `has_truncate`, Landlock watches
    `truncate` itself; `unsignaled` are processes that must get no signal, where Landlock does not watch signals. Raises OSError
    for an architecture without a table.
    """
    if machine not in MACHINES:
        raise OSError(f"no table of system calls for {machine}")
    program = _instructions(
        machine, has_network=has_network, has_truncate=has_truncate, unsignaled=unsignaled, reports_tcp=reports_tcp
    )
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program)


@cache
def assemble_key_filter() -> bytes:
    """Return the filter of tier A as the kernel reads it: it refuses the keyrings, which no namespace separates."""
    program: list[Instruction] = [(_LOAD, 0, 0, _ARCHITECTURE_AT)]
    for architecture, refused in _KEY_CALLS.items():
        steps: list[Instruction] = [(_LOAD, 0, 0, _NUMBER_AT)]
        for number in refused:
            steps += [(_IF_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ERROR | errno.EPERM)]
        steps.append((_RETURN, 0, 0, _ALLOW))
        program += [(_IF_EQUAL, 0, len(steps), architecture), *steps]
    program.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program)


def _instructions(
    machine: str, *, has_network: bool, has_truncate: bool, unsignaled: Sequence[int], reports_tcp: bool
) -> Iterator[Instruction]:
    known = numbers(machine)
    refuse = (_RETURN, 0, 0, _ERROR | errno.EPERM)
    not_implemented = (_RETURN, 0, 0, _ERROR | errno.ENOSYS)
    yield (_LOAD, 0, 0, _ARCHITECTURE_AT)
    yield (_IF_EQUAL, 1, 0, MACHINES[machine][1])
    yield (_RETURN, 0, 0, _KILL_PROCESS)
    yield (_LOAD, 0, 0, _NUMBER_AT)
    if machine == "x86_64":
        yield (_IF_AT_LEAST, 0, 1, _X32)
        yield not_implemented
    denied = [name for name in known if name not in _CALLS]
    for name in denied if has_truncate else (*denied, "truncate"):
        yield (_IF_EQUAL, 0, 1, known[name])
        yield refuse
    yield (_IF_EQUAL, 0, 1, known["clone3"])
    yield not_implemented
    yield from _on_argument(known["clone"], _FIRST_ARGUMENT_AT, [(_IF_ANY_BIT, 0, 1, _NAMESPACES), refuse])
    yield from _on_argument(
        known["ioctl"],
        _SECOND_ARGUMENT_AT,
        [step for request in _FAKED_INPUT for step in ((_IF_EQUAL, 0, 1, request), refuse)],
    )
    if not has_network:
        unix_only = [(_IF_EQUAL, 1, 0, _UNIX), refuse]
        yield from _on_argument(known["socketpair"], _FIRST_ARGUMENT_AT, unix_only)
        yield from _on_argument(known["socket"], _FIRST_ARGUMENT_AT, _tcp_rules(refuse) if reports_tcp else unix_only)
    if reports_tcp:
        for name, at in (
            ("sendto", _FOURTH_ARGUMENT_AT),
            ("sendmsg", _THIRD_ARGUMENT_AT),
            ("sendmmsg", _FOURTH_ARGUMENT_AT),
        ):
            yield from _on_argument(known[name], at, [(_IF_ANY_BIT, 0, 1, _FAST_OPEN), refuse])
    if unsignaled:
        yield from _signal_rules(known, unsignaled[-_MOST_PROCESSES:], refuse)
    yield (_RETURN, 0, 0, _ALLOW)


def _on_argument(number: int, offset: int, steps: Sequence[Instruction]) -> Iterator[Instruction]:
    """Yield the steps for one call: they see the argument, and what they do not decide is allowed."""
    yield (_IF_EQUAL, 0, len(steps) + 2, number)
    yield (_LOAD, 0, 0, offset)
    yield from steps
    yield (_RETURN, 0, 0, _ALLOW)


def _tcp_rules(refuse: Instruction) -> list[Instruction]:
    """Return the steps that allow Unix sockets, report TCP sockets, and refuse others."""
    return [
        (_IF_EQUAL, 7, 0, _UNIX),
        (_IF_EQUAL, 1, 0, _IPV4),
        (_IF_EQUAL, 0, 4, _IPV6),
        (_LOAD, 0, 0, _SECOND_ARGUMENT_AT),
        (_AND, 0, 0, _TYPE_BITS),
        (_IF_EQUAL, 0, 1, _STREAM),
        (_RETURN, 0, 0, _REPORT),
        refuse,
    ]


def _signal_rules(known: dict[str, int], processes: Sequence[int], refuse: Instruction) -> Iterator[Instruction]:
    """Yield the end of a filter that refuses signals to processes, to their groups and to all; allows all other calls."""
    calls = [known[name] for name in ("kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_open")]
    for place, number in enumerate(calls):
        yield (_IF_EQUAL, len(calls) - place, 0, number)
    yield (_RETURN, 0, 0, _ALLOW)
    yield (_LOAD, 0, 0, _FIRST_ARGUMENT_AT)
    for target in (-1, *processes, *(-process for process in processes)):
        yield (_IF_EQUAL, 0, 1, target & 0xFFFFFFFF)
        yield refuse


_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long
_libc.syscall.argtypes = (ctypes.c_long, *[ctypes.c_void_p] * 4)
_libc.prctl.argtypes = (ctypes.c_int, *[ctypes.c_ulong] * 4)


def call(number: int, *arguments: int | bytes | None) -> int:
    """Return what a system call of at most four arguments returns. Raises OSError where it fails."""
    result: int = _libc.syscall(number, *arguments, *[None] * (4 - len(arguments)))
    if result < 0:
        raise _last_error()
    return result


def call_prctl(option: int, value: int) -> int:
    """Return what `prctl` returns. Raises OSError where it fails."""
    result: int = _libc.prctl(option, value, 0, 0, 0)
    if result < 0:
        raise _last_error()
    return result


def _last_error() -> OSError:
    code = ctypes.get_errno()
    return OSError(code, os.strerror(code))


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))


def install(program: bytes, *, with_listener: bool = False) -> int:
    """Apply the filter to the calling thread and to what it starts, for good. Raises OSError where the kernel refuses.

    Returns the descriptor of the listener, 0 without one.
    """
    buffer = ctypes.create_string_buffer(program, len(program))
    described = _Program(len(program) // 8, ctypes.addressof(buffer))
    number = numbers(os.uname().machine)["seccomp"]
    call_prctl(_NO_NEW_PRIVILEGES, 1)
    flags = _SPECULATE | (_WITH_LISTENER if with_listener else 0)
    return call(number, _SET_FILTER, flags, ctypes.addressof(described))
