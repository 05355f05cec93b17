"""Commands that swap folders with links while others start in tier A: what gets out, per user, form of the link and way to run.

Run: python -m benchmarks.stress_mounts [--rounds 200] (Linux with bubblewrap; as root, both users are tried).
A command in the background swaps a folder that it has made with a link to the home, by renameat2(RENAME_EXCHANGE), as fast as it
can; other commands start one after another, or four at once. Each tries to read and write the home, a hidden file and a protected
one. Every class must have 0 escapes. The last line of a user reports how often a command that does nothing else reads `.env`
between its replacement from outside and the end that this brings: no system call prevents that.
"""

import argparse
import os
import shutil
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from opencode_tui.engine.sandbox.launch import plan_launch
from opencode_tui.engine.sandbox.policy import Policy
from opencode_tui.engine.sandbox.tier import probe
from opencode_tui.engine.sandbox.tiers.seccomp import call_prctl
from opencode_tui.engine.tool.process.process import Command, Ended, ShellProcess

NOBODY = 65534
AT_ONCE = 4
REPLACEMENTS = 50
_DUMPABLE = 4
SYSTEM = tuple(Path(os.path.realpath(name)) for name in ("/usr", "/etc", "/nix") if os.path.exists(name))

FLIP = """
import ctypes, os
libc = ctypes.CDLL(None)
print("flipping", flush=True)
while True:
    libc.renameat2(-100, b"a", -100, b"b", 2)
"""
SPIN = """
import os
print("spinning", flush=True)
while True:
    try:
        print(os.read(os.open(".env", os.O_RDONLY), 100).decode(), flush=True)
        break
    except OSError:
        pass
"""
TRY = """
for one in a b ../home "$HOUSE"; do
cat "$one/.bashrc" "$one/.env" "$one/secret" "$one/sub/.envrc"
echo written >> "$one/.bashrc"; touch "$one/made"; ls -A "$one"
done
cat fixed/.env; echo written >> fixed/.bashrc; mv fixed gone; true
"""


class Place:
    """A project beside a home, and commands that run in it."""

    def __init__(self, base: Path) -> None:
        self.base, self.project, self.home, self.temp = base, base / "project", base / "home", base / "temp"
        for name, text in {
            "home/.bashrc": "CANARY",
            "home/secret": "CANARY",
            "home/.tools/x": "",
            "project/fixed/.bashrc": "protected",
            "project/fixed/.env": "CANARY",
            "project/flip.py": FLIP,
            "project/spin.py": SPIN,
            "project/.env": "old",
            "temp/x": "",
        }.items():
            (base / name).parent.mkdir(parents=True, exist_ok=True)
            (base / name).write_text(text)
        self._before = self._outside()

    def _outside(self) -> dict[str, str]:
        found = {str(path): path.read_text() if path.is_file() else "" for path in sorted(self.home.rglob("*"))}
        return found | {"protected": (self.project / "fixed/.bashrc").read_text()}

    def was_changed(self) -> bool:
        """Return whether the home or a protected file differs."""
        return self._outside() != self._before

    def run(self, text: str, feed: Callable[[bytes], None], cancel: int) -> Ended:
        """Run a command line with the protected and hidden paths that the project has or had."""
        project = self.project
        environ = {"PATH": "/usr/bin:/bin", "HOME": str(self.home), "HOUSE": str(self.home)}
        protected = (project / "a/.bashrc", project / "a/sub/.envrc", project / "fixed/.bashrc")
        hidden = (project / "a/.env", project / "fixed/.env", project / ".env")
        read = (*SYSTEM, self.home / ".tools")
        policy = Policy(read, (project, self.temp), protected, hidden, self.temp, "none", environ)
        launch = plan_launch("bubblewrap", policy, ("/bin/bash", "-c", text), project)
        return ShellProcess(Command(text, project, environ, 60_000, "bash", launch), feed, cancel=cancel).run()


class Running:
    """A command on a thread of its own."""

    def __init__(self, place: Place, text: str, ready: bytes = b"") -> None:
        self.output = b""
        self.failure = ""
        self._ready, self._is_ready = ready, threading.Event()
        self._cancel, self._end = os.pipe()
        self._thread = threading.Thread(target=self._run, args=(place, text))
        self._thread.start()
        if ready:
            self._is_ready.wait(60)

    def _run(self, place: Place, text: str) -> None:
        try:
            place.run(text, self._feed, self._cancel)
        except OSError as error:
            self.failure = str(error)
        self._is_ready.set()

    def _feed(self, data: bytes) -> None:
        self.output += data
        if self._ready in self.output:
            self._is_ready.set()

    def join(self) -> bytes:
        self._thread.join()
        os.close(self._cancel)
        os.close(self._end)
        return self.output

    def stop(self) -> bytes:
        os.write(self._end, b"!")
        return self.join()


def links(place: Place) -> dict[str, str]:
    """Return the targets of links that lead to the home, some by the names of bubblewrap's own folders."""
    up = "/".join([".."] * (len(place.project.parts) - 1))
    return {
        "relative": "../home",
        "absolute": str(place.home),
        "relative, old root": f"{up}/../oldroot{place.home}",
        "absolute, old root": f"/oldroot{place.home}",
    }


def swap(name: str, form: str, way: str, rounds: int) -> bool:
    """Run all rounds of a class, print a line, and return whether nothing escaped."""
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        place = Place(Path(os.path.realpath(folder)))
        make = f"mkdir -p a/sub; echo x | tee a/.bashrc a/.env a/sub/.envrc; ln -s '{links(place)[form]}' b"
        flipping = Running(place, f"{make}; exec python3 flip.py", b"flipping")
        done = 0
        while done < rounds:
            together = AT_ONCE if way == "parallel" else 1
            begun = [Running(place, TRY) for _ in range(together)]
            for one in begun:
                output = one.join()
                counts["refused" if one.failure else "failed" if output.startswith(b"bwrap: ") else "ran"] += 1
                counts["escapes"] += b"CANARY" in output or place.was_changed()
            done += together
        flipping.stop()
    print(
        f"{name:<9} {form:<19} {way:<11} {done:>4} rounds: {counts['ran']:>4} ran, {counts['refused']:>4} refused, "
        f"{counts['failed']:>4} failed in bubblewrap, {counts['escapes']:>3} escapes",
        flush=True,
    )
    return not counts["escapes"] and counts["ran"] > 0


def replace_hidden(name: str) -> bool:
    """Replace `.env` while a command tries to read it, print a line, and return whether each command was ended."""
    counts: Counter[str] = Counter()
    for _ in range(REPLACEMENTS):
        with tempfile.TemporaryDirectory() as folder:
            place = Place(Path(os.path.realpath(folder)))
            running = Running(place, "python3 spin.py; exec sleep 60", b"spinning")
            (place.project / "new").write_text("CANARY")
            (place.project / "new").replace(place.project / ".env")
            output = running.join()
            counts["ended"] += b"The command was ended" in output
            counts["read"] += b"CANARY" in output
    ended, read = counts["ended"], counts["read"]
    print(f"{name:<9} .env replaced {REPLACEMENTS} times: {ended} commands ended, {read} had read it", flush=True)
    return counts["ended"] == REPLACEMENTS


def measure(name: str, rounds: int) -> bool:
    forms = ("relative", "absolute", "relative, old root", "absolute, old root")
    held = [swap(name, form, way, rounds) for form in forms for way in ("background", "parallel")]
    return all([*held, replace_hidden(name)])


def measure_as_user(rounds: int) -> bool:
    """Measure in a child that is an ordinary user."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    code = 1
    try:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        call_prctl(_DUMPABLE, 1)  # else its own /proc belongs to root
        code = 0 if measure("user", rounds) else 1
    finally:
        os._exit(code)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    rounds: int = parser.parse_args().rounds
    if not (status := probe("bubblewrap", os.environ)).works or shutil.which("python3", path="/usr/bin:/bin") is None:
        print(f"skipped: {status.reason or 'no python3 of the system'}")
        return 0
    is_root = os.geteuid() == 0
    held = [measure_as_user(rounds)] if is_root else []
    held.append(measure("root" if is_root else "user", rounds))
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
