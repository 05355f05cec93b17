"""Twenty stores that real programs made one after the other, OpenCode 2's preview last. Needs OPENCODE_PROGRAMS (see real_preview).

Each store begins with sessions of 1.1.65, 1.2.1, 1.18.33 or none, is brought up to date by 1.18.33 or not, and then has turns of
the preview in its old sessions and in new ones; some migrations and turns are killed. What the tables and records hold is counted
without our readers: each session, message, call and text is in our store once, a second import changes nothing, and the source
stays as it was, also while its engine runs. Sessions can be exported, searched, forked and continued.
"""

import hashlib
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from opencode_tui.extras.importing.opencode_sqlite import OpenCodeSqlite
from opencode_tui.storage.paths import find_paths
from tests.benchmarks.comparison import Figure, report
from tests.conftest import isolated_environment
from tests.support.importing.desk import Desk
from tests.support.importing.real_opencode import PROGRAMS, RealOpenCode, fill, program_of
from tests.support.importing.real_preview import PreviewSession, RealPreview, kill, preview_program
from tests.support.provider.model_server import ModelServer
from tests.support.world.cli import CommandLine
from tests.support.world.repo import make_repo

NEWEST = "1.18.33"
"""The version whose database the preview continues."""

KINDS = (
    *[("2-preview", "")] * 3,
    *[(NEWEST, "")] * 5,
    *[("1.2.1", "update")] * 3,
    *[("1.1.65", "update")] * 3,
    *[("1.1.65", "")] * 2,
    *[("1.1.65", "killed update")] * 2,
    *[(NEWEST, "killed start")] * 2,
)
"""The program that began a store, and what happened before the preview's turns."""

_ONE_PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


@dataclass
class Findings:
    """What was seen over all stores."""

    stores: int = 0
    sessions: int = 0
    items: int = 0
    wrong: dict[str, list[str]] = field(default_factory=dict)

    def expect(self, name: str, is_right: bool, detail: object) -> None:
        """Note a claim that does not hold."""
        self.wrong.setdefault(name, [])
        if not is_right:
            self.wrong[name].append(str(detail)[:700])
            print(f"{name}: {self.wrong[name][-1]}", flush=True)


class Maker:
    """Makes the stores of one folder, each in a home folder of its own."""

    def __init__(self, top: Path, model: ModelServer, chance: random.Random) -> None:
        self._top = top
        self._model = model
        self._chance = chance
        repo = make_repo(top / "project")
        repo.commit("begin", **{"a.txt": "a\n"})
        self.project = repo.path
        self._begun: dict[str, Path] = {}

    def make(self, at: int, begun: str, before: str) -> RealPreview:
        """Return the preview with its store, which nothing uses any more."""
        home = self._top / f"home-{at}"
        if begun != "2-preview":
            shutil.copytree(self._first(begun), home, symlinks=True)
        program = preview_program()
        assert program is not None
        preview = RealPreview(program, home, self.project, self._model.config())
        if before.endswith("update"):
            newest = self._real(NEWEST, home)
            if before.startswith("killed"):
                self._killed([str(newest.program), "session", "list"], newest.environment())
            else:
                newest.run("session", "list")
        preview.configure(
            permissions=[{"action": "*", "resource": "*", "effect": "allow"}]
        )  # the older ones refuse this
        if before == "killed start":
            server = preview.start("serve", "--port", "0")
            time.sleep(self._chance.uniform(0.3, 2.5))
            kill(server)
        try:
            preview.run("migrate")
        except (AssertionError, subprocess.TimeoutExpired) as error:
            print(f"store {at}: the preview's migration failed: {str(error)[:300]}", flush=True)
        return preview

    def work(self, preview: RealPreview) -> None:
        """Let the preview work in old and new sessions; now and then its server is killed during a turn."""
        for _ in range(2):
            with preview.serve() as client:
                listed = client.get("/api/session").json()["data"]
                old = [str(one["id"]) for one in listed]
                sessions = [PreviewSession(client, self.project)]
                sessions += [
                    PreviewSession(client, self.project, id=one) for one in self._chance.sample(old, min(2, len(old)))
                ]
                for session in sessions:
                    for _ in range(self._chance.randint(1, 4)):
                        self._turn(session)
                if self._chance.random() < 0.5:
                    sessions[0].prompt("killed <<slow 300>> <<words 50>>", is_waited_for=False)
                    time.sleep(self._chance.uniform(0.1, 1.5))
        (self.project / "made.txt").unlink(missing_ok=True)

    def _turn(self, session: PreviewSession) -> None:
        name = f"turn {self._chance.randrange(1_000_000)}"
        uri = f"file://{self.project / 'a.txt'}"
        match self._chance.randrange(11):
            case 0:
                session.prompt(f"{name} <<reason because>> <<words 4>>")
            case 1:
                session.prompt(f'{name} <<tool bash {{"command":"echo hi; ls","description":"List"}}>>')
            case 2:
                session.prompt(f'{name} <<tool write {{"path":"made.txt","content":"one\\n"}}>>')
            case 3:
                session.prompt(f'{name} <<tool read {{"path":"absent.txt"}}>>')
            case 4:
                todos = [{"content": "first", "status": "in_progress", "priority": "high"}]
                session.prompt(f"{name} <<tool todowrite {json.dumps({'todos': todos})}>>")
            case 5:
                file = {"uri": uri, "name": "a.txt", "source": {"start": 0, "end": 4, "text": "turn"}}
                image = {"uri": f"data:image/png;base64,{_ONE_PIXEL}", "name": "dot.png"}
                session.prompt(name, files=[file, image])
            case 6:
                session.post("agent", agent=self._chance.choice(("plan", "build")))
                session.prompt(name)
            case 7:
                session.prompt(f"{name} <<slow 200>> <<words 40>>", is_waited_for=False)
                session.post(
                    "prompt", prompt={"text": f"{name} behind"}, delivery=self._chance.choice(("queue", "steer"))
                )
                session.wait()
            case 8:
                session.prompt(f"{name} <<slow 300>> <<words 40>>", is_waited_for=False)
                time.sleep(0.7)
                session.post("interrupt")
                session.wait()
            case 9:
                session.post("prompt", prompt={"text": f"{name} unread"}, resume=False)
            case _:
                self._revert(session, name)

    def _revert(self, session: PreviewSession, name: str) -> None:
        session.prompt(f'{name} <<tool write {{"path":"made.txt","content":"two\\n"}}>>')
        messages = session.client.get(f"/api/session/{session.id}/message").json()["data"]
        users = [str(one["id"]) for one in messages if one["type"] == "user"]
        session.post("revert/stage", messageID=self._chance.choice(users[:2]), files=True)
        if (choice := self._chance.randrange(3)) < 2:
            session.post(("revert/clear", "revert/commit")[choice])

    def _first(self, version: str) -> Path:
        """Return the home folder of a version with three sessions and a subagent's, made once."""
        if version not in self._begun:
            home = self._top / f"begun-{version}"
            with self._real(version, home).serve() as client:
                fill(client, self.project)
            (self.project / "new.txt").unlink(missing_ok=True)
            self._begun[version] = home
        return self._begun[version]

    def _real(self, version: str, home: Path) -> RealOpenCode:
        program = program_of(version)
        assert program is not None
        return RealOpenCode(program, home, self.project, self._model.config())

    def _killed(self, command: list[str], environ: dict[str, str]) -> None:
        process = subprocess.Popen(
            command,
            cwd=self.project,
            env=environ,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        time.sleep(self._chance.uniform(0.8, 3.0))
        kill(process)


Item = tuple[str, str, str]
"""A session, the kind of what is in it, and its words or its call."""


def there(data: Path) -> tuple[set[str], Counter[Item]]:
    """Return the sessions of a data folder of OpenCode and what they hold, as its files say."""
    sessions: set[str] = set()
    parts: dict[str, Item] = {}
    newer: Counter[Item] = Counter()
    for path in sorted((data / "storage" / "session").rglob("*.json")):
        sessions.add(path.stem)
    for path in sorted((data / "storage" / "part").rglob("*.json")):
        part = json.loads(path.read_bytes())
        parts[part["id"]] = _older(part, part["sessionID"])
    for database in sorted(data.glob("opencode*.db")):
        rows = _rows(database)
        sessions |= {str(one["id"]) for one in rows("session")}
        for one in rows("part"):
            parts[str(one["id"])] = _older(json.loads(one["data"]), one["session_id"])
        known = {one["id"] for one in rows("session_message")}
        for one in rows("session_message"):
            newer.update(_newer(one["session_id"], one["type"], json.loads(one["data"])))
        for one in rows("session_input"):
            if one["id"] not in known:
                newer.update(_newer(one["session_id"], "user", json.loads(one["prompt"])))
    return sessions, Counter(one for one in parts.values() if one[1]) + newer


def here(records: dict[str, bytes]) -> tuple[set[str], Counter[Item]]:
    """Return the same of our store."""
    sessions = {Path(path).stem for path in records if path.startswith("session/")}
    parts = [json.loads(data) for path, data in records.items() if path.startswith("part/")]
    return sessions, Counter(one for one in (_older(part, part["sessionID"]) for part in parts) if one[1])


def _older(part: dict[str, Any], session: str) -> Item:
    match part["type"]:
        case "text" if part.get("synthetic"):
            return session, "", ""  # what a program says for the user differs by version
        case "text" | "reasoning" if part["text"]:
            return session, part["type"], part["text"]
        case "tool":
            return session, "call", part["callID"]
        case "file":
            return session, "file", part["url"]
        case _:
            return session, "", ""


def _newer(session: str, kind: str, data: dict[str, Any]) -> Iterator[Item]:
    if kind == "user" and data["text"]:
        yield session, "text", data["text"]
    for file in data.get("files", []) if kind == "user" else ():
        yield session, "file", file["uri"]
    for item in data.get("content", []) if kind == "assistant" else ():
        if item["type"] == "tool":
            yield session, "call", item["id"]
        elif item["text"]:
            yield session, item["type"], item["text"]


def _rows(database: Path) -> Any:
    def read(table: str) -> list[dict[str, Any]]:
        connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
        connection.row_factory = sqlite3.Row
        try:
            return [dict(row) for row in connection.execute(f"SELECT * FROM {table}")]
        except sqlite3.OperationalError:
            return []  # no such table
        finally:
            connection.close()

    return read


def fingerprint(data: Path) -> str:
    """Return what all rows and files of a store are, whatever the log of its database holds."""
    digest = hashlib.sha256()
    for database in sorted(data.glob("opencode*.db")):
        connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
        for line in connection.iterdump():
            digest.update(line.encode())
        connection.close()
    for path in sorted((data / "storage").rglob("*.json")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def check(at: int, preview: RealPreview, top: Path, model: ModelServer, findings: Findings, *, can_start: bool) -> None:
    """Import a store in all ways and note what is wrong."""
    environ = isolated_environment(top / f"ours-{at}")
    desk = Desk(find_paths(environ), environ)
    before = fingerprint(preview.data)
    if at % 2 and can_start:
        with preview.serve():
            before = fingerprint(preview.data)
            first = desk.run(preview.data)
            findings.expect("changed while its engine runs", fingerprint(preview.data) == before, at)
    else:
        first = desk.run(preview.data)
        findings.expect("changed stores", fingerprint(preview.data) == before, at)
    findings.expect("problems", not first.problems, f"{at}: {first.problems}")
    sessions, items = there(preview.data)
    own_sessions, own = here(desk.records())
    findings.stores += 1
    findings.sessions += len(sessions)
    findings.items += sum(items.values())
    findings.expect("sessions that are missing or more", sessions == own_sessions, f"{at}: {sessions ^ own_sessions}")
    findings.expect(
        "texts, calls and files that are missing", not items - own, f"{at}: {list((items - own).items())[:5]}"
    )
    findings.expect(
        "texts, calls and files that are there twice", not own - items, f"{at}: {list((own - items).items())[:5]}"
    )
    records = desk.records()
    again = desk.run(preview.data)
    findings.expect(
        "changes by a second import", (again.new, again.newer) == (0, 0) and desk.records() == records, f"{at}: {again}"
    )
    _check_left_behind(at, preview.data, findings)
    _use(at, CommandLine(preview.project, environ, provider=model.config()), sessions, items, findings)


def _check_left_behind(at: int, data: Path, findings: Findings) -> None:
    rows = _rows(data / "opencode.db")
    newer = {one["session_id"] for one in rows("session_message")}
    older = {one["session_id"] for one in rows("message")}
    expected = len(older - newer) if newer else 0
    source = OpenCodeSqlite(data / "opencode.db")
    found = len(source.left_behind())
    source.close()
    findings.expect("sessions left behind that are not named", found == expected, f"{at}: {found} of {expected}")


def _use(at: int, line: CommandLine, sessions: set[str], items: Counter[Item], findings: Findings) -> None:
    """Open, search, fork and continue a session of the store with the command line."""
    session, _, text = next(
        one for one in items if one[1] == "text" and one[0] in sessions and one[2].startswith("turn")
    )
    word = text.split()[1]
    exported = line.run("export", session)
    messages = json.loads(exported.stdout)["messages"] if exported.code == 0 else []
    shown = [part.get("text") for message in messages for part in message["parts"]]
    findings.expect("sessions that do not open", text in shown, f"{at}: {text!r} {exported.stderr}")
    found = line.run("session", "search", word, "--format", "json")
    findings.expect("sessions that are not found", found.code == 0 and session in found.stdout, f"{at}: {word} {found}")
    forked = line.turn("on <<words 2>>", "-s", session, "--fork")
    findings.expect("sessions that do not fork", forked.code == 0 and forked.session_id != session, forked)
    done = line.turn("go on <<words 2>>", "-s", session)
    findings.expect("sessions that do not continue", done.code == 0 and done.session_id == session, done)


def main() -> int:
    """Make and check the stores, and return the exit code."""
    missing = [version for version in ("1.1.65", "1.2.1", NEWEST) if program_of(version) is None]
    if missing or preview_program() is None:
        print(
            f"skipped: {PROGRAMS} has not all programs; the heads of real_opencode and real_preview say how to install them"
        )
        return 0
    chance, findings = random.Random(37), Findings()
    kinds = [*enumerate(KINDS)]
    if sys.argv[1:]:
        kinds = [kinds[int(at)] for at in sys.argv[1:]]
    elif os.environ.get("BENCHMARK_QUICK"):
        kinds = kinds[:: len(KINDS) // 5]
    with tempfile.TemporaryDirectory() as name, ModelServer() as model:
        maker = Maker(Path(name), model, chance)
        for at, (begun, before) in kinds:
            preview = maker.make(at, begun, before)
            can_start = True
            try:
                maker.work(preview)
            except AssertionError as error:  # what another version left half done can keep the preview from its start
                print(f"store {at}: the preview did no more: {str(error)[:300]}", flush=True)
                can_start = False
            check(at, preview, Path(name), model, findings, can_start=can_start)
            print(f"store {at}: {begun} {before}, {findings.sessions} sessions so far", flush=True)
    what = f"of {findings.stores} stores, {findings.sessions} sessions, {findings.items} items"
    return report([Figure(f"{name} {what}", len(wrong), 0, "") for name, wrong in findings.wrong.items()])


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (AssertionError, httpx.HTTPError) as error:
        sys.exit(f"{type(error).__name__}: {error}")
