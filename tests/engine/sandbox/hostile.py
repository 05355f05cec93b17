"""Scripts that try to get out of a tier, and what they reached; run by `test_hostile_scripts.py` inside an outer guard.

`python -m tests.engine.sandbox.hostile TIER FOLDER` prints a JSON object: the name of each script with what it reached, which is
nothing when the tier held it. Of `SHARED_PROC` only the scripts that look for other processes run.
"""

import ctypes
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.engine.sandbox.confined import Confined
from tests.support.world.machine import PYTHON

CANARY = "CANARY-OUTSIDE-4417"
HIDDEN = "CANARY-HIDDEN-4418"
TRIED = "tried it"
SHARED_PROC = "bubblewrap without a /proc of its own"
IN_VIEW = "bubblewrap in a prepared view"
"""The name of the variant of bubblewrap for containers that mask parts of `/proc`."""

SCRIPTS: dict[str, str] = {
    "write a new file": "echo x > {outside}/new",
    "append to a file": "echo x >> {outside}/victim",
    "append to a file of the home": "echo x >> {home}/.bashrc; echo x >> ~/.bashrc",
    "truncate by a tool": "truncate -s 0 {outside}/victim",
    "truncate by a path": "{python} -c 'import os; os.truncate(\"{outside}/victim\", 0)'",
    "remove a file": "rm -f {outside}/victim",
    "remove what lies beside": "cd .. && rm -rf outside home",
    "create a folder": "mkdir -p {outside}/a/b",
    "create a pipe and a device": "mkfifo {outside}/p; mknod {outside}/n c 1 3",
    "rename into the project": 'mv {outside}/victim here; {python} -c \'import os; os.rename("{outside}/victim", "x")\'',
    "rename out of the project": 'echo x > f; {python} -c \'import os; os.rename("f", "{outside}/f")\'',
    "rename the project": "mv {project} {outside}/moved; mv {project} {project}2",
    "hard link in and write": "ln {outside}/victim hard && echo x >> hard",
    "hard link out": "echo x > f; ln f {outside}/hard",
    "link and read": "ln -s {outside}/secret soft; cat soft",
    "link to a folder and write": "ln -s {outside} d; echo x > d/new; cp -r src d/",
    "read a file": "cat {outside}/secret; cat ../outside/secret",
    "read by a copy": "cp {outside}/secret s; cat s; tar cf - {outside} | tar xOf -",
    "list a folder": "ls -R {outside}; find {outside}; echo {outside}/*",
    "list through temp": "find /tmp | head -2000",
    "write into the temp folder of others": "echo x > {base}/new; mkdir {base}/folder",
    "read through root of a process": "for p in /proc/[0-9]*; do cat $p/root{outside}/secret $p/cwd/../outside/secret; done",
    "read environments": "cat /proc/*/environ /proc/*/task/*/environ",
    "read descriptors": "for f in /proc/[0-9]*/fd/*; do case $(readlink $f) in *held*) cat $f;; esac; done",
    "read memory by ptrace": "{python} tools.py ptrace {victim}",
    "read memory by vm_readv": "{python} tools.py readv {victim} {address}",
    "read memory by the file": "{python} tools.py mem {victim} {address}",
    "kill a process": "kill -9 {victim}; {python} tools.py signal {victim}",
    "kill the parent": "kill -9 $PPID; kill -9 {parent}; kill -STOP {parent}; kill -9 -{parent}",
    "kill everything": "trap '' TERM; kill -TERM -1",
    "leave by a new session": "setsid bash -c 'sleep 0.1; echo x > {outside}/late' & sleep 0.2",
    "leave by a double fork": "(setsid nohup bash -c 'sleep 0.1; cat {outside}/secret > s' >/dev/null 2>&1 &); sleep 0.2; cat s",
    "send by TCP": "echo x > /dev/tcp/127.0.0.1/{tcp}",
    "send by UDP": "echo x > /dev/udp/127.0.0.1/{udp}",
    "ask a name server": "{python} tools.py udp {udp}; getent hosts {canary}.example",
    "open other sockets": "{python} tools.py sockets",
    "connect to an abstract socket": "{python} tools.py unix '\\0{abstract}'",
    "connect to a socket file": "{python} tools.py unix {outside}/socket",
    "change modes": "chmod 777 {outside}/victim",
    "change times": "touch -d 2001-01-01 {outside}/victim",
    "enter another namespace": "nsenter -t {parent} -a cat {outside}/secret; nsenter -t 1 -m cat {outside}/secret",
    "mount over": "mount --bind /usr {project}/src && echo CANARY-MOUNTED; unshare -Urm mount -t tmpfs x {outside}",
    "mount the outside": "unshare -Urm bash -c 'mount --bind / src; cat src/{outside}/secret; cat {outside}/secret'",
    "uncover in a namespace": "unshare -Urm bash -c 'umount -l .env .git/config; mount -o remount,dev,rw .env; cat .env'",
    "open by a handle": "{python} tools.py handle {outside}/secret",
    "make a device of a disk": "mknod disk b 254 0 && head -c 1 disk | wc -c | sed 's/^1$/CANARY-DISK/'",
    "write settings of the kernel": "echo {canary} > /proc/sys/kernel/domainname; hostname {canary}",
    "type into a terminal": "{python} tools.py type",
    "replace in a loop": "{python} tools.py race {outside}",
    "become another user": "su -c 'cat {outside}/secret' nobody; sudo -n cat {outside}/secret",
    "read by a compiler": (
        "gcc -E -xc - <<< '#include \"{outside}/secret\"'; gcc @{outside}/secret; "
        "as -o o <<< '.incbin \"{outside}/secret\"'; cat o"
    ),
    "read by lists of files": (
        "tar cf - -T - <<< {outside}/secret | cat; printf '{outside}/secret\\0' | sort --files0-from=-; "
        "file -f {outside}/secret"
    ),
    "read by git": (
        "git hash-object -w --stdin-paths <<< {outside}/secret | xargs -r git cat-file -p; "
        "git diff --no-index /dev/null {outside}/secret; git -C {outside} grep --no-index CANARY"
    ),
    "read by a link from git": (
        "printf {outside} | git hash-object -w --stdin > i; "
        "git update-index --add --cacheinfo 120000,$(cat i),lnk; git checkout -- lnk; cat lnk/secret"
    ),
    "read by a link from a patch": (
        "printf 'diff --git a/p b/p\\nnew file mode 120000\\n--- /dev/null\\n+++ b/p\\n@@ -0,0 +1 "
        "@@\\n+{outside}/secret\\n\\\\ No newline at end of file\\n' | git apply; cat p"
    ),
    "read and write by a link from an archive": (
        "{python} tools.py archive {outside}; tar xf links.tar; cat l/secret; tar xf links.tar; echo x > l/new"
    ),
    "read by a URL": (
        "curl -s file://{outside}/secret; {python} -c 'import urllib.request as u; "
        'print(u.urlopen("file://{outside}/secret").read())\''
    ),
    "read by the own process": (
        "cat /proc/self/root{outside}/secret /proc/thread-self/cwd/../outside/secret /dev/fd/../../..{outside}/secret"
    ),
    "read by an open folder": "{python} tools.py above ../outside/secret",
    "read by a new root": "{python} tools.py chroot {outside}/secret",
    "read keys of the kernel": "{python} tools.py keys {abstract}",
    "read the messages of the kernel": (
        "{python} tools.py syslog; dmesg | sed 's/^./CANARY-/' | head -1; head -c 9 /dev/kmsg | sed 's/^./CANARY-/'"
    ),
    "read disks and memory": (
        "for f in /dev/mem /dev/vda /dev/sda /dev/nvme0n1 /proc/kcore; do head -c 9 $f | sed 's/^/CANARY-/'; done"
    ),
    "read what others hold open": "cat /proc/[0-9]*/{fd,map_files}/* < /dev/null 2> /dev/null & sleep 0.3; kill -9 $!; wait $!",
    "write by variables of tools": (
        "KRB5_TRACE={outside}/w curl -s http://127.0.0.1; GIT_TRACE={outside}/w git status; "
        "BASH_XTRACEFD=9 bash -xc : 9>{outside}/w; SSLKEYLOGFILE={outside}/w curl -s https://127.0.0.1"
    ),
    "write by interpreters": (
        "perl -e 'open F, q(>), q({outside}/w)'; awk 'BEGIN{print 1 > \"{outside}/w\"}'; "
        "sed -n 'w {outside}/w' src/a.py"
    ),
    "write by arithmetic and traps": (
        "x='a[$(touch {outside}/w)]'; (( x )); trap 'touch {outside}/w' EXIT; "
        "PROMPT_COMMAND='touch {outside}/w' bash -ic :"
    ),
    "write by git's programs": (
        "git -c core.pager='touch {outside}/w;' -p status; git -c alias.x='!touch {outside}/w' x; "
        "git -c core.editor='touch {outside}/w;' commit --allow-empty; "
        "git -c core.fsmonitor='touch {outside}/w;' status"
    ),
    "write by a library": (
        "printf '__attribute__((constructor)) void f(void){extern int system(char*);system(\"touch "
        "{outside}/w\");}' | gcc -shared -fPIC -xc - -o e.so; LD_PRELOAD=./e.so true"
    ),
    "write by a memory file": "{python} tools.py memfd {outside}",
    "write by a scheduler": (
        "echo 'touch {outside}/w' | at now; echo '* * * * * touch {outside}/w' | crontab -; "
        "systemd-run --user touch {outside}/w"
    ),
    "set attributes outside": (
        "setfattr -n user.x -v y {outside}/victim; {python} -c 'import os; "
        'os.setxattr("{outside}/victim", "user.x", b"y")\'; chattr +i {outside}/victim'
    ),
    "leave by a namespace and a new root": (
        "unshare -Urmpf --mount-proc sh -c 'cat {outside}/secret /proc/1/root{outside}/secret; "
        "chroot /proc/1/root cat {outside}/secret'"
    ),
    "leave by bubblewrap": "bwrap --bind / / cat {outside}/secret; bwrap --unshare-all --ro-bind / / cat {outside}/secret",
    "limit and slow a process": (
        "prlimit --pid {victim} --cpu=1:1; renice 19 {victim}; ionice -c 3 -p {victim}; taskset -p 1 {victim}"
    ),
    "signal a process by its folder": "{python} tools.py folder {victim}",
    "send by raw and local packets": (
        "ping -c 1 -W 1 127.0.0.1 -p {tcp}; {python} -c 'import socket; "
        "socket.create_connection((\"localhost\", {tcp}))'; {python} -c 'import socket; "
        'socket.create_connection(("::ffff:127.0.0.1", {tcp}))\''
    ),
    "send by an inherited or passed socket": (
        "{python} tools.py inherited; for f in /proc/self/fd/*; "
        "do readlink $f | sed -n 's/socket:/CANARY-SOCKET/p'; done"
    ),
    "change the clock and the limits of the machine": (
        "date -s 2001-01-01; hostname {canary}; sysctl -w kernel.domainname={canary}; "
        "echo 1 > /proc/sys/vm/drop_caches && echo CANARY-CACHES"
    ),
    "write git's settings": "echo x >> .git/config; git config core.fsmonitor x",
    "write git's settings by a rename": "cp .git/config c; echo x >> c; mv -f c .git/config",
    "write a hook": "echo x > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit",
    "move hooks away": "mv .git/hooks .git/h; mkdir .git/hooks; echo x > .git/hooks/pre-commit",
    "move .git away": "mv .git x; mkdir -p .git; cp -r x/. .git/; echo x >> .git/config",
    "link over git's settings": "ln -sf ../src/a.py .git/config; rm -rf .git/hooks; ln -s ../src .git/hooks",
    "remove .git": "rm -rf .git",
    "move the folder of a nested repository": "mv sub x; mkdir -p sub/n/.git; echo x > sub/n/.git/config",
    "write a nested repository's settings": "echo x >> sub/n/.git/config; mv sub/n sub/m",
    "read a hidden file": "cat .env; {python} -c 'print(open(\".env\").read())'; head -c 9 < .env",
    "read a hidden file by a copy": "cp .env e; cat e; ln .env h; cat h; mv .env m; cat m; tar cf - . | tar xO .env; grep -r K= .",
    "read a hidden file by its folder": "mv sub other; cat other/.env; cat sub/.env; ln -s sub/.env l; cat l",
    "read a hidden file by git": "git add -f sub/.env; git show :sub/.env; git diff --no-index /dev/null .env",
    "change a hidden file's mode": "chmod 644 .env; chown 0 .env; cat .env",
    "empty a hidden file": ": > .env; truncate -s 0 .env; rm -f .env",
}

TOOLS = r"""
import ctypes, os, signal, socket, struct, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
what, rest = sys.argv[1], sys.argv[2:]
def show(data): print(bytes(data).decode("latin-1"))
if what == "ptrace":
    pid = int(rest[0])
    if libc.ptrace(16, pid, 0, 0) == 0:
        os.waitpid(pid, 0); print("CANARY-TRACED"); libc.ptrace(17, pid, 0, 0)
elif what == "readv":
    buffer = ctypes.create_string_buffer(64)
    vector = struct.pack("PN", ctypes.addressof(buffer), 64); other = struct.pack("PN", int(rest[1]), 64)
    print(libc.process_vm_readv(int(rest[0]), vector, 1, other, 1, 0)); show(buffer.raw)
elif what == "mem":
    file = open(f"/proc/{rest[0]}/mem", "rb", 0); file.seek(int(rest[1])); show(file.read(64))
elif what == "signal":
    fd = os.pidfd_open(int(rest[0])); signal.pidfd_send_signal(fd, 9)
elif what == "udp":
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.sendto(b"x", ("127.0.0.1", int(rest[0])))
elif what == "sockets":
    for family, kind in ((16, 3), (17, 3), (40, 1), (2, 3), (10, 3), (38, 5), (31, 3)):
        try:
            s = socket.socket(family, kind)
            if family == 16: s.bind((0, 0))
            if family == 40: s.settimeout(0.2); s.connect((2, 1)); print("CANARY-VSOCK")
        except OSError as error: print(family, error)
elif what == "unix":
    s = socket.socket(socket.AF_UNIX); s.connect(rest[0].replace("\\0", "\0")); s.sendall(b"x")
elif what == "handle":
    handle = ctypes.create_string_buffer(struct.pack("Ii", 128, 0) + bytes(128)); mount = ctypes.c_int()
    print(libc.name_to_handle_at(-100, rest[0].encode(), handle, ctypes.byref(mount), 0), os.strerror(ctypes.get_errno()))
    for folder in (".", "/usr", "/proc"):
        at = os.open(folder, os.O_RDONLY)
        for inode in range(1, 4):
            fd = libc.open_by_handle_at(at, struct.pack("IiII", 8, 1, inode, 0), 0)
            if fd >= 0: print("CANARY-HANDLE")
        fd = libc.open_by_handle_at(at, handle, 0)
        if fd >= 0: show(os.read(fd, 100))
elif what == "archive":
    import io, tarfile
    with tarfile.open("links.tar", "w") as file:
        link = tarfile.TarInfo("l"); link.type = tarfile.SYMTYPE; link.linkname = rest[0]; file.addfile(link)
        inner = tarfile.TarInfo("l/new"); inner.size = 1; file.addfile(inner, io.BytesIO(b"x"))
elif what == "above":
    at = os.open(".", os.O_PATH); above = os.open("..", os.O_PATH, dir_fd=at)
    for start in (at, above):
        try: show(os.read(os.open(rest[0] if start == at else rest[0][3:], os.O_RDONLY, dir_fd=start), 100))
        except OSError as error: print(error)
elif what == "chroot":
    at = os.open(".", os.O_PATH); os.mkdir("jail"); os.chroot("jail"); os.fchdir(at)
    for _ in range(20): os.chdir("..")
    os.chroot("."); print(open(rest[0]).read())
elif what == "keys":
    keyctl = 250 if os.uname().machine == "x86_64" else 219
    libc.syscall(keyctl, 8, -4, -3); buffer = ctypes.create_string_buffer(64)
    print(libc.syscall(keyctl, 11, libc.syscall(keyctl, 10, -3, b"user", rest[0].encode(), 0), buffer, 64)); show(buffer.raw)
elif what == "syslog":
    buffer = ctypes.create_string_buffer(4096)
    if libc.klogctl(3, buffer, 4096) > 0: print("CANARY-MESSAGES")
elif what == "memfd":
    fd = os.memfd_create("x"); os.write(fd, f"#!/bin/sh\ntouch {rest[0]}/w\n".encode())
    os.system(f"sh /proc/self/fd/{fd}; /proc/{os.getpid()}/fd/{fd}")
elif what == "folder":
    fd = os.open(f"/proc/{rest[0]}", os.O_RDONLY | os.O_DIRECTORY); signal.pidfd_send_signal(fd, 9)
elif what == "inherited":
    for fd in range(3, 256):
        try: socket.socket(fileno=fd).send(b"x"); print("CANARY-SENT")
        except OSError: pass
elif what == "type":
    import fcntl, termios
    for name in ("/dev/tty", "/proc/self/fd/0", "/proc/self/fd/1"):
        try: fcntl.ioctl(os.open(name, os.O_RDWR | os.O_NOCTTY), termios.TIOCSTI, b"x"); print("CANARY-TYPED")
        except OSError as error: print(name, error)
elif what == "race":
    os.mkdir("a"); open("a/f", "w"); os.symlink(rest[0], "b"); stop = time.monotonic() + 0.3
    def swap():
        while time.monotonic() < stop:
            os.rename("a", "t"); os.rename("b", "a"); os.rename("t", "b")
    threading.Thread(target=swap).start()
    while time.monotonic() < stop:
        for name in ("a", "b"):
            try: open(name + "/raced", "w").write("x")
            except OSError: pass
            try: print(open(name + "/secret").read())
            except OSError: pass
"""


class Listener(threading.Thread):
    """Counts what arrives at a socket of any kind."""

    def __init__(self, bound: socket.socket) -> None:
        super().__init__(daemon=True)
        self._socket = bound
        self.count = 0
        self.start()

    def run(self) -> None:
        while True:
            if self._socket.type == socket.SOCK_STREAM:
                self._socket.accept()[0].close()
            else:
                self._socket.recv(100)
            self.count += 1


class World:
    """The outside: files, sockets and a process."""

    def __init__(self, name: str, base: Path) -> None:
        self.name = name
        self.confined = self.make_confined(base)
        self._held = ctypes.create_string_buffer(CANARY.encode() + b"-memory")
        self._start_victim()
        self._fill()
        self._template = base / "template"
        self._make_template()
        tcp = socket.create_server(("127.0.0.1", 0))
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        udp.bind(("127.0.0.1", 0))
        self._abstract = f"hostile-{os.getpid()}"
        add_key = 248 if os.uname().machine == "x86_64" else 217
        ctypes.CDLL(None).syscall(add_key, b"user", self._abstract.encode(), CANARY.encode(), len(CANARY), -4)
        self._sockets = [tcp, udp]
        for name in (f"\0{self._abstract}", str(self.confined.outside / "socket")):
            unix = socket.socket(socket.AF_UNIX)
            unix.bind(name)
            unix.listen()
            self._sockets.append(unix)
        self._listeners = [Listener(bound) for bound in self._sockets]
        self._before = self._outside()

    def make_confined(self, base: Path) -> Confined:
        """Return what runs the scripts."""
        confined = Confined(
            "landlock" if self.name == "landlock" else "bubblewrap", base, is_prepared=self.name == IN_VIEW
        )
        confined.limit(shares_proc=self.name == SHARED_PROC)
        return confined

    def _start_victim(self) -> None:
        code = (
            f"import ctypes, sys; b = ctypes.create_string_buffer(b'{CANARY}-memory'); f = open('held', 'w+'); "
            f"f.write('{CANARY}'); f.flush(); print(ctypes.addressof(b), flush=True); sys.stdin.read()"
        )
        environ = {**os.environ, "SECRET": CANARY}
        self.victim = subprocess.Popen(
            [sys.executable, "-c", code], cwd=self.confined.outside, stdin=-1, stdout=-1, text=True, env=environ
        )
        assert self.victim.stdout is not None
        self.address = self.victim.stdout.readline().strip()

    def _fill(self) -> None:
        outside, home = self.confined.outside, self.confined.home
        (outside / "secret").write_text(CANARY)
        (outside / "victim").write_text("original")
        (outside / f"{CANARY}-name").write_text("")
        (home / ".bashrc").write_text(f"# {CANARY}\n")

    def _outside(self) -> dict[str, object]:
        confined = self.confined
        found: dict[str, object] = {"base": sorted(os.listdir(confined.base))}
        for path in [*confined.outside.rglob("*"), *confined.home.rglob("*")]:
            state = path.lstat()
            content = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
            found[str(path)] = (state.st_mode, state.st_uid, state.st_mtime_ns, content)
        for name in ("/proc/sys/kernel/domainname", "/proc/sys/kernel/hostname"):
            found[name] = Path(name).read_text()
        return found

    def _make_template(self) -> None:
        project = self._template
        (project / "src").mkdir(parents=True)
        (project / "src/a.py").write_text("print(1)\n")
        (project / "tools.py").write_text(TOOLS)
        for name in (".env", "sub/n/.env", "sub/.env"):
            (project / name).parent.mkdir(parents=True, exist_ok=True)
            (project / name).write_text(f"K={HIDDEN}\n")
        git = ["git", "-c", "user.email=a@b", "-c", "user.name=a", "-c", "init.templateDir="]
        for folder in (project, project / "sub/n"):
            for words in (["init", "-q"], ["add", "-f", ".env"], ["commit", "-qm", "first"]):
                subprocess.run([*git, *words], cwd=folder, check=True, env=self.confined.policy.environ)
            (folder / ".git/hooks").mkdir()
            (folder / ".git/hooks/sample").write_text("")

    def _fresh_project(self) -> None:
        project = self.confined.project
        shutil.rmtree(project)
        shutil.copytree(self._template, project, symlinks=True)
        protected = tuple(self._protected())
        hidden = tuple(project / name for name in (".env", "sub/n/.env", "sub/.env"))
        self.confined.limit(read_only=protected, hidden=hidden)

    def _protected(self) -> list[Path]:
        project = self.confined.project
        return [project / name for name in (".git/config", ".git/hooks", "sub/n/.git/config", "sub/n/.git/hooks")]

    def _protected_state(self) -> list[object]:
        found: list[object] = []
        for path in self._protected():
            names = sorted(os.listdir(path)) if path.is_dir() else path.read_bytes() if path.exists() else None
            found.append((path.is_symlink(), names))
        hidden = [path.read_text() if path.exists() else None for path in self.confined.policy.hidden]
        return [*found, *hidden]

    def run(self, script: str) -> list[str]:
        """Return what a script reached."""
        self._fresh_project()
        confined = self.confined
        values = {
            "base": confined.base, "outside": confined.outside, "home": confined.home, "project": confined.project,
            "python": PYTHON, "victim": self.victim.pid, "parent": os.getpid(), "address": self.address,
            "tcp": self._sockets[0].getsockname()[1], "udp": self._sockets[1].getsockname()[1],
            "abstract": self._abstract, "canary": CANARY.lower(),
        }  # fmt: skip
        text = script
        for name, value in values.items():
            text = text.replace(f"{{{name}}}", str(value))
        protected = self._protected_state()
        counts = [listener.count for listener in self._listeners]
        _, output = confined.run(
            f"{text}\necho '{TRIED}'", timeout_ms=60_000
        )  # patience with a busy machine: each of them ends
        reached: list[str] = []
        if (after := self._outside()) != self._before:
            changed = [name for name in {**after, **self._before} if after.get(name) != self._before.get(name)]
            reached.append(f"changed {sorted(changed)}")
            self._before = after
        if "CANARY-" in output.replace(f"{CANARY.lower()}", "") and HIDDEN not in output:
            reached.append(f"read {output[-200:]!r}")
        if HIDDEN in output:
            reached.append("read a hidden file")
        if self._protected_state() != protected:
            reached.append("changed protected files")
        if [listener.count for listener in self._listeners] != counts:
            reached.append("reached a socket")
        if self.victim.poll() is not None:
            reached.append("killed a process")
            self._start_victim()
        if TRIED not in output:
            reached.append(f"did not end: {output[-200:]!r}")
        return reached


def run_all(make: Callable[[], World], scripts: Mapping[str, str] = SCRIPTS) -> None:
    """Run scripts, with process numbers that no confined process gets, and print the results."""
    while (child := os.fork()) <= 500:
        if child == 0:
            break
        os.waitpid(child, 0)
    if child:
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    if os.getpid() <= 500:
        os._exit(0)
    world = make()
    try:
        json.dump({name: world.run(script) for name, script in scripts.items()}, sys.stdout)
    finally:
        world.victim.kill()


if __name__ == "__main__":
    about_processes = {
        name: text for name, text in SCRIPTS.items() if re.search(r"/proc|victim|parent|kill|unshare", text)
    }
    run_all(lambda: World(sys.argv[1], Path(sys.argv[2])), about_processes if sys.argv[1] == SHARED_PROC else SCRIPTS)
