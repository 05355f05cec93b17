"""Races with what tier A mounts, and commands that would change mounts from inside."""

from benchmarks.guard.case import Act, Call, Case, Together, User, background, bash, steps

_FLIP = """@PY -c "
import ctypes, os, time
rename = ctypes.CDLL(None).renameat2
end = time.monotonic() + {seconds}
while time.monotonic() < end:
    rename(-100, b'{a}', -100, b'{b}', 2)
\""""


def flip(a: str = "a", b: str = "b", seconds: float = 2) -> str:
    """Return a command that exchanges two names again and again."""
    return _FLIP.format(a=a, b=b, seconds=seconds)


_TARGETS = {"relative": "../home", "absolute": "@H", "through a link": "mid"}
_READ = "cat a/.ssh/id_rsa b/.ssh/id_rsa; echo pwned >> a/.bashrc; echo pwned >> b/.bashrc; ls -a a b"

_RACES = tuple(
    Case(
        f"a folder with {name} and a {form} link to the home change places in the background",
        steps(
            f"ln -s ../home mid; mkdir -p a; echo x > a/{name}; ln -s {target} b",
            background(flip()),
            *(bash(_READ) for _ in range(6)),
        ),
    )
    for name in (".bashrc", ".env", ".mcp.json")
    for form, target in _TARGETS.items()
)

_PARALLEL = tuple(
    Case(
        f"calls of one step: one exchanges a folder and a {form} link, the others start",
        steps(
            f"ln -s ../home mid; mkdir -p a; echo x > a/.bashrc; ln -s {target} b",
            Together((bash(flip(seconds=1)), *(bash(_READ) for _ in range(4)))),
            Together((bash(flip(seconds=1)), *(bash("true") for _ in range(4)))),
        ),
    )
    for form, target in _TARGETS.items()
)

_SCANNED = tuple(
    Case(
        f"the search for protected files meets a {form} link in the background",
        steps(
            f"ln -s ../home mid; mkdir -p a; ln -s {target} b",
            background(flip()),
            *(bash("true") for _ in range(8)),
            Act("undo"),
        ),
    )
    for form, target in _TARGETS.items()
)

_TOOLS = tuple(
    Case(
        f"{call.tool} while its folder and a link change places",
        steps(
            "mkdir -p a; echo x > a/victim.txt; echo y > a/secret.txt; ln -s ../outside b",
            background(flip()),
            *[call] * 8,
        ),
    )
    for call in (
        Call("write", {"filePath": "a/victim.txt", "content": "pwned"}),
        Call("write", {"filePath": "a/new.txt", "content": "pwned"}),
        Call("edit", {"filePath": "a/victim.txt", "oldString": "original", "newString": "pwned"}),
        Call("read", {"filePath": "a/secret.txt"}),
        Call("grep", {"pattern": "CANARY", "path": "a"}),
        Call("grep", {"pattern": "CANARY"}),
        Call("glob", {"pattern": "a/**"}),
    )
)

_APPEND = "while true; do echo '# pwned' >> {0}; done 2>/dev/null"
_REPLACED = tuple(
    Case(
        f"the user replaces {name} by a rename while a command waits for it",
        steps(background(_APPEND.format(name)), Act("wait"), User(change), Act("wait"), "true"),
        files=files,
        clean=(name,),
    )
    for name, change, files in (
        (".git/config", "git config branch.main.remote origin", {}),
        (".git/config", "cp .git/config c; mv c .git/config", {}),
        (".envrc", "cp .envrc e; mv e .envrc", {".envrc": "export A=1"}),
        (".mcp.json", "cp .mcp.json e; mv e .mcp.json", {".mcp.json": "{}"}),
        (".vscode/tasks.json", "cp .vscode/tasks.json e; mv e .vscode/tasks.json", {".vscode/tasks.json": "{}"}),
        ("sub/.bashrc", "cp sub/.bashrc e; mv e sub/.bashrc", {"sub/.bashrc": "# a"}),
        ("sub/.bashrc", "mv sub sub2; cp -r sub2 sub", {"sub/.bashrc": "# a"}),
        (".husky/pre-commit", "cp -r .husky h; rm -rf .husky; mv h .husky", {".husky/pre-commit": "x:#!/bin/sh"}),
    )
)

_HIDDEN = tuple(
    Case(
        f"the user replaces .env by {how} while a command waits to read it",
        steps(
            background("while true; do cat .env; sleep 0.01; done 2>/dev/null"),
            Act("wait"),
            User(change),
            Act("wait"),
            "true",
        ),
        tiers=("bubblewrap",),
    )
    for how, change in (
        ("a rename", "cp .env e; mv e .env"),
        ("deleting and writing", "cp .env ../e; rm .env; cp ../e .env; rm ../e"),
        ("an editor's way", "cp .env .env.swp; mv .env .env~; mv .env.swp .env; rm .env~"),
    )
)

_INSIDE = tuple(
    Case(f"from inside: {name}", steps(command, "true"))
    for name, command in (
        ("umount", "umount -l .git/config .env @P; echo pwned >> .git/config"),
        ("remount", "mount -o remount,rw,bind .git/config; mount -o remount,rw /; echo pwned >> .git/config"),
        (
            "a namespace of its own",
            "unshare -Urm sh -c 'umount -l .env; cat .env; umount -l @H; cat @H/.ssh/id_rsa; mount --bind / sub; cat sub@H/.ssh/id_rsa'",
        ),
        (
            "a namespace by clone",
            "@PY -c \"import ctypes, os; print(ctypes.CDLL(None).unshare(0x10000000|0x20000)); print(os.listdir('@H'))\"",
        ),
        (
            "another process's namespace",
            "nsenter -t 1 -m cat @H/.ssh/id_rsa; nsenter -t $PPID -m -U cat @H/.ssh/id_rsa",
        ),
        ("pivot_root", "unshare -Urm sh -c 'mount --bind sub sub; cd sub; pivot_root . .; ls /@H'"),
        ("chroot", "unshare -Ur chroot /proc/1/root cat @H/.ssh/id_rsa; chroot /proc/self/root cat @H/.ssh/id_rsa"),
        (
            "an overlay",
            "unshare -Urm sh -c 'mount -t overlay o -o lowerdir=/,upperdir=src,workdir=sub sub; cat sub@H/.ssh/id_rsa'",
        ),
        (
            "open_tree",
            "@PY -c \"import ctypes; l=ctypes.CDLL(None); print(l.syscall(428, -100, b'@H', 1)); print(l.syscall(428, -100, b'/', 0x8001))\"",
        ),
        ("a file handle", "@PY -c \"import ctypes; l=ctypes.CDLL(None); print(l.syscall(304, -100, b'', 0))\""),
        (
            "the roots of processes",
            "for p in /proc/[0-9]*; do cat $p/root@H/.ssh/id_rsa; cat $p/cwd/../home/.ssh/id_rsa; done",
        ),
        ("descriptors of processes", "for f in /proc/[0-9]*/fd/*; do cat $f/.ssh/id_rsa $f/../home/.ssh/id_rsa; done"),
        (
            "inherited descriptors",
            "for f in 3 4 5 6 7 8 9 10 11 12 13 14 15; do cat /proc/self/fd/$f/.ssh/id_rsa; ls /proc/self/fd/$f/..; done",
        ),
        ("an end of what runs beside it", "kill -9 -1; kill -STOP $PPID; kill -CONT $PPID; kill -9 1 $PPID"),
        (
            "ptrace of what runs beside it",
            'gdb -p 1 -batch; strace -p 1; @PY -c "import ctypes; l=ctypes.CDLL(None); print([l.ptrace(16, p, 0, 0) for p in range(1, 40)])"',
        ),
        (
            "io_uring",
            '@PY -c "import ctypes; l=ctypes.CDLL(None); print(l.syscall(425, 8, ctypes.create_string_buffer(120)))"',
        ),
        ("memory of processes", "for p in /proc/[0-9]*; do grep -a CANARY $p/environ $p/mem; done"),
        ("a setuid program", "su -c 'cat @H/.ssh/id_rsa'; sudo -n cat @H/.ssh/id_rsa; pkexec cat @H/.ssh/id_rsa"),
        (
            "devices",
            "ls /dev; cat /dev/mem /dev/kmsg /dev/sda /dev/vda | head -c 100; mknod sub/d b 254 0; head -c 100 sub/d",
        ),
        (
            "a socket's descriptors",
            "ls -la /run /var/run/docker.sock; docker ps; curl -s --unix-socket /run/docker.sock http://x/info",
        ),
    )
)

MOUNTS = (*_RACES, *_PARALLEL, *_SCANNED, *_TOOLS, *_REPLACED, *_HIDDEN, *_INSIDE)
