"""Sessions of real OpenCode programs here and back: differences of records. Needs OPENCODE_PROGRAMS (see real_opencode).

Installed as `npm install --prefix FOLDER/VERSION opencode-ai@VERSION` for 1.1.65, 1.2.1 and 1.18.33, with OPENCODE_PROGRAMS=FOLDER.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.benchmarks.comparison import Figure, report
from tests.conftest import isolated_environment
from tests.support.importing.real_opencode import PROGRAMS, RealOpenCode, fill, program_of
from tests.support.provider.model_server import ModelServer
from tests.support.world.cli import CommandLine
from tests.support.world.repo import make_repo

MIGRATES = "1.2.1"
"""The version that turns the folder of 1.1.65 into a database."""

VERSIONS = ("1.1.65", "1.18.33")
ADDED = frozenset({"cost", "tokens"})
"""Sums that newer versions add to a session that they import."""


def without_ours(session: dict[str, Any]) -> dict[str, Any]:
    """Return an exported session without the keys of ours, and without what an import sets anew: its project and its folder."""
    info = {key: value for key, value in session["info"].items() if key not in ("metadata", "projectID", "path")}
    messages = json.loads(json.dumps(session["messages"]))
    for message in messages:
        for part in message["parts"]:
            if part["type"] == "patch":
                part.pop("after", None)
    return {"info": info, "messages": messages}


def differences(expected: dict[str, Any], found: dict[str, Any], name: str) -> list[str]:
    """Return what differs between two exported sessions."""
    left, right = without_ours(expected), without_ours(found)
    wrong = [
        f"{name}: info.{key}: {left['info'].get(key)!r} became {right['info'].get(key)!r}"
        for key in sorted(left["info"].keys() | right["info"].keys())
        if left["info"].get(key) != right["info"].get(key)
    ]
    if len(left["messages"]) != len(right["messages"]):
        return [*wrong, f"{name}: {len(left['messages'])} messages became {len(right['messages'])}"]
    for one, other in zip(left["messages"], right["messages"], strict=True):
        if one["info"] != other["info"]:
            wrong.append(f"{name}: message {one['info']} became {other['info']}")
        parts = zip(one["parts"], other["parts"], strict=False)
        wrong += [f"{name}: part {part} became {changed}" for part, changed in parts if part != changed]
        if len(one["parts"]) != len(other["parts"]):
            wrong.append(f"{name}: {len(one['parts'])} parts became {len(other['parts'])}")
    return wrong


class Comparison:
    """The programs side by side in one folder."""

    def __init__(self, top: Path, model: ModelServer) -> None:
        self.top = top
        repo = make_repo(top / "project")
        repo.commit("begin", **{"a.txt": "a\n"})
        self.project = repo.path
        self.model = model

    def real(self, version: str, home: str) -> RealOpenCode:
        """Return a program with a home folder of its own."""
        program = program_of(version)
        assert program is not None
        return RealOpenCode(program, self.top / home, self.project, self.model.config())

    def ours(self, home: str) -> CommandLine:
        """Return our command line with a home folder of its own."""
        folder = self.top / home
        folder.mkdir(parents=True, exist_ok=True)
        return CommandLine(self.project, isolated_environment(folder), provider=self.model.config())

    def export(self, line: CommandLine, session_id: str) -> dict[str, Any]:
        """Return our export of a session."""
        done = line.run("export", session_id)
        assert done.code == 0, done.stderr
        return json.loads(done.stdout)

    def import_(self, line: CommandLine, *arguments: str) -> None:
        """Import with our command, which must leave nothing out."""
        done = line.run("import", *arguments, "--format", "json")
        assert done.code == 0, done.stderr
        assert json.loads(done.stdout)["problems"] == [], done.stdout

    def there_and_back(self, version: str) -> tuple[list[str], int]:
        """Return the differences of all sessions of a real store, through our store and our export, and their number."""
        real = self.real(version, f"real-{version}")
        with real.serve() as client:
            fill(client, self.project)
            ids = [one["id"] for one in client.get("/session").json()]
        (self.project / "new.txt").unlink()
        wrong: list[str] = []
        whole, single, back = (
            self.ours(f"store-{version}"),
            self.ours(f"file-{version}"),
            self.real(version, f"back-{version}"),
        )
        self.import_(whole, "opencode", str(real.data))
        self.import_(whole, "opencode", str(real.data))
        for session_id in ids:
            original = json.loads(real.run("export", session_id))
            wrong += differences(original, self.export(whole, session_id), f"{version} store")
            path = self.top / f"{version}-{session_id}.json"
            path.write_text(json.dumps(original))
            self.import_(single, str(path))
            exported = self.export(single, session_id)
            wrong += differences(original, exported, f"{version} file")
            path.write_text(json.dumps(exported))
            back.run("import", str(path))
            wrong += differences(original, json.loads(back.run("export", session_id)), f"{version} back")
        return wrong, len(ids)

    def from_ours(self, version: str) -> list[str]:
        """Return the differences of a session of ours after the real program imported it."""
        line = self.ours("ours")
        done = line.turn('work <<reason think>> <<tool bash {"command":"echo hi > made.txt","description":"Make"}>>')
        assert done.code == 0, done.stderr
        exported = self.export(line, done.session_id)
        path = self.top / "ours.json"
        path.write_text(json.dumps(exported))
        real = self.real(version, f"takes-{version}")
        real.run("import", str(path))
        found = json.loads(real.run("export", done.session_id))
        for key in ADDED - exported["info"].keys():
            found["info"].pop(key, None)
        return differences(exported, found, f"ours in {version}")

    def migrated(self) -> list[str]:
        """Return the differences between the folder of 1.1.65 and the database that the newer version makes of it."""
        home = self.top / "real-1.1.65"
        shutil.copytree(home, self.top / "migrated", symlinks=True)
        newer = self.real(MIGRATES, "migrated")
        newer.run("session", "list")
        line, folder = self.ours("from-database"), self.ours("store-1.1.65")
        self.import_(line, "opencode", str(newer.data / "opencode.db"))
        listed = json.loads(line.run("session", "list", "--format", "json").stdout)
        wrong = [] if listed else ["the database has no session"]
        for one in listed:
            wrong += differences(self.export(folder, one["id"]), self.export(line, one["id"]), "database")
        return wrong


def main() -> int:
    """Compare and return the exit code."""
    missing = [version for version in (*VERSIONS, MIGRATES) if program_of(version) is None]
    if missing:
        print(
            f"skipped: {PROGRAMS} has no opencode {', '.join(missing)}; the head of this module says how to install them"
        )
        return 0
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory() as name, ModelServer() as model:
        comparison = Comparison(Path(name), model)
        for version in VERSIONS:
            wrong, count = comparison.there_and_back(version)
            figures.append(_figure(f"{version} and back, differences in {count} sessions", wrong))
            figures.append(_figure(f"ours in {version} and back, differences", comparison.from_ours(version)))
        figures.append(_figure(f"folder and database of {MIGRATES}, differences", comparison.migrated()))
    return report(figures)


def _figure(name: str, wrong: list[str]) -> Figure:
    for one in wrong[:10]:
        print(one[:1500])
    return Figure(name, len(wrong), 0, "")


if __name__ == "__main__":
    try:
        sys.exit(main())
    except subprocess.TimeoutExpired as error:
        sys.exit(f"{error}")
