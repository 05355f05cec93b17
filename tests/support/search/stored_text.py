"""A generator of stores for the search: sessions of prose, code and tool calls, with words as frequent as in real texts.

    python -m tests.support.search.stored_text FOLDER SESSIONS

writes SESSIONS of 100 parts each below FOLDER/storage, about 28,000 characters in each. The same numbers give the same store.
"""

import itertools
import json
import os
import random
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

TURNS = 10
"""Turns of a session; each has a request of one part and an answer of nine."""

VOCABULARY = 60_000
"""Different words; the n-th is used 1/n as often as the first one."""

YEAR_MS = 365 * 24 * 3_600_000
_SYLLABLES = [first + second for first in "bcdfghklmnprstvz" for second in ("a", "e", "i", "o", "u", "an", "er", "on")]
_TOOLS = ("bash", "read", "edit", "grep", "write", "glob")
_UNSPACED = "重试退避策略文件读取写入错误日志索引搜索会话部分"


def vocabulary() -> list[str]:
    """Return the words, the most frequent first: short ones, then longer ones; a few in camelCase and with underscores."""
    found: dict[str, None] = {}
    for length in (1, 2, 3, 4):
        for syllables in itertools.product(_SYLLABLES[:: 1 if length < 3 else 5], repeat=length):
            word = "".join(syllables)
            number = len(found)
            if number % 40 == 7 and length > 1:
                word = syllables[0] + "".join(syllables[1:]).capitalize()
            elif number % 40 == 9 and length > 1:
                word = f"{syllables[0]}_{''.join(syllables[1:])}"
            found[word] = None
            if len(found) >= VOCABULARY:
                return list(found)
    return list(found)


class Texts:
    """Random texts of the vocabulary."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.words = vocabulary()
        self._weights = list(itertools.accumulate(1 / (number + 10) for number in range(len(self.words))))

    def prose(self, count: int) -> str:
        """Return a text of so many words."""
        return " ".join(self.random.choices(self.words, cum_weights=self._weights, k=count))

    def code(self, count: int) -> str:
        """Return lines of about so many words between the signs of code."""
        picked = self.random.choices(self.words, cum_weights=self._weights, k=count)
        return "\n".join(f"    {one} = {two}({three})" for one, two, three in zip(*[iter(picked)] * 3, strict=False))

    def path(self) -> str:
        """Return a path of three words."""
        return "/home/me/" + "/".join(self.random.choices(self.words, cum_weights=self._weights, k=3)) + ".py"

    def unspaced(self) -> str:
        """Return a word of a script without spaces."""
        return "".join(self.random.choices(_UNSPACED, k=6))


@dataclass(frozen=True, slots=True)
class StoredPart:
    """A part of a generated store: its file's data, and what is indexed of it."""

    session: str
    message: str
    name: str
    data: str
    body: str
    paths: str


def write_store(root: Path, sessions: int, *, seed: int = 1) -> Iterator[StoredPart]:
    """Write sessions below `root` and yield their parts, oldest first; the caller must consume them."""
    texts = Texts(seed)
    began = int(time.time() * 1000) - YEAR_MS
    numbers = itertools.count(1)
    for number in range(sessions):
        project = f"project{number % 20}"
        created = began + number * YEAR_MS // sessions
        session = f"ses_{(1 << 47) - number:012x}{number:014d}"
        title = texts.prose(5)
        record = {
            "id": session,
            "version": "1",
            "projectID": project,
            "directory": f"/home/me/{project}",
            "title": title,
            "time": {"created": created, "updated": created + TURNS * 60_000},
        }
        _write(root / "session" / project, session, json.dumps(record))
        for turn in range(TURNS):
            time_ms = created + turn * 60_000
            for is_user in (True, False):
                yield from _write_message(root, session, next(numbers), time_ms, texts, is_user=is_user)


def read_store(root: Path) -> Iterator[StoredPart]:
    """Yield the parts of a generated store from its files, without any code of the program."""
    for folder in sorted((root / "message").iterdir()):
        for message in sorted(os.listdir(folder)):
            parts = root / "part" / message.removesuffix(".json")
            for name in sorted(os.listdir(parts)):
                data = (parts / name).read_text("utf-8")
                record = json.loads(data)
                body, paths = record.get("text", ""), ""
                if record["type"] == "tool":
                    state = record["state"]
                    paths = state["input"].get("filePath", "")
                    body = "\n".join([state["input"].get("command", ""), state["title"], state["output"]])
                yield StoredPart(folder.name, parts.name, name.removesuffix(".json"), data, body, paths)


def _write_message(
    root: Path, session: str, number: int, time_ms: int, texts: Texts, *, is_user: bool
) -> Iterator[StoredPart]:
    message = f"msg_{number:012x}00000000000000"
    role = "user" if is_user else "assistant"
    record = {
        "id": message,
        "sessionID": session,
        "role": role,
        "time": {"created": time_ms, "completed": time_ms + 9_000},
    }
    _write(root / "message" / session, message, json.dumps(record))
    folder = root / "part" / message
    folder.mkdir(parents=True)
    for at, (data, body, paths) in enumerate(_contents(texts, time_ms, is_user=is_user)):
        name = f"prt_{number * 16 + at:012x}00000000000000"
        whole = json.dumps({"id": name, "sessionID": session, "messageID": message, **data}, ensure_ascii=False)
        _write_file(f"{folder}/{name}.json", whole)
        yield StoredPart(session, message, name, whole, body, paths)


def _contents(texts: Texts, time_ms: int, *, is_user: bool) -> Iterator[tuple[dict[str, object], str, str]]:
    """Yield the record, the indexed text and the indexed paths of each part of a message."""
    pick = texts.random.random
    if is_user:
        body = texts.prose(30) + (f" {texts.unspaced()}" if pick() < 0.1 else "")
        yield {"type": "text", "text": body}, body, ""
        return
    times = {"start": time_ms, "end": time_ms + 1_000}
    body = texts.prose(40)
    yield {"type": "reasoning", "text": body, "time": times}, body, ""
    for call in range(6):
        tool = texts.random.choice(_TOOLS)
        given = {"command": texts.prose(4)} if tool == "bash" else {"filePath": texts.path()}
        output = texts.code(36)
        title = texts.prose(2)
        state = {"status": "completed", "input": given, "title": title, "output": output, "time": times}
        body = "\n".join([*([given["command"]] if tool == "bash" else []), title, output])
        yield {"type": "tool", "tool": tool, "callID": str(call), "state": state}, body, given.get("filePath", "")
    body = texts.prose(60)
    yield {"type": "text", "text": body, "time": times}, body, ""
    body = texts.prose(20)
    yield {"type": "text", "text": body, "time": times}, body, ""


def _write(folder: Path, name: str, data: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    _write_file(f"{folder}/{name}.json", data)


def _write_file(path: str, data: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.write(descriptor, data.encode())
    os.close(descriptor)


def main() -> None:
    """Write a store and print its size."""
    root, sessions = Path(sys.argv[1]) / "storage", int(sys.argv[2])
    count = characters = 0
    for part in write_store(root, sessions):
        count += 1
        characters += len(part.body) + len(part.paths)
    (Path(sys.argv[1]) / "size.json").write_text(json.dumps({"parts": count, "characters": characters}))
    print(f"{count:,} parts, {characters:,} indexed characters")


if __name__ == "__main__":
    main()
