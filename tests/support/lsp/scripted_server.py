"""A tiny language server: each line with `BUG` is an error, each `SHOW PATH` one that quotes that file, as errors in a file that a
source includes do. `python scripted_server.py LOG MODE...`.

Modes: `pull` (asked) or `push` (with versions), `silent` (no versions), `freeze` (no answer once a document contains FREEZE),
`crash` (ends at initialize), `held` (starts no sooner than LOG.go exists), `slow` (no answer about a document that contains SLOW),
`mute` (pushes nothing about one that contains MUTE), `cut` (messages end in half a character). It writes a line for each message
that it gets to LOG, and one for each file that others changed to LOG.files.
"""

import json
import os
import re
import sys
import time
from typing import Any

log = open(sys.argv[1], "a", buffering=1)  # noqa: SIM115 - open until the end
modes = set(sys.argv[2:])
documents: dict[str, tuple[int, str]] = {}


def send(message: dict[str, Any]) -> None:
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    sys.stdout.buffer.flush()


def read() -> dict[str, Any] | None:
    size = 0
    while (line := sys.stdin.buffer.readline()) not in (b"", b"\r\n"):
        if line.lower().startswith(b"content-length"):
            size = int(line.split(b":")[1])
    return json.loads(sys.stdin.buffer.read(size)) if size else None


def errors(uri: str) -> list[dict[str, Any]]:
    return [
        {
            "range": {"start": {"line": n, "character": line.index("BUG")}, "end": {"line": n, "character": 99}},
            "severity": 1,
            "code": "bug",
            "source": "scripted",
            "message": "a bug \ud83d" if "cut" in modes else "a bug",
        }
        for n, line in enumerate(documents[uri][1].split("\n"))
        if "BUG" in line
    ] + [
        {"range": span(n, 0, 1), "severity": 1, "code": "show", "source": "scripted", "message": first_line(line[5:])}
        for n, line in enumerate(documents[uri][1].split("\n"))
        if line.startswith("SHOW ")
    ]


def first_line(path: str) -> str:
    try:
        with open(path) as file:
            return f"quoted {file.readline()}"
    except OSError as error:
        return f"not opened: {error.strerror}"


def span(line: int, start: int, end: int) -> dict[str, Any]:
    return {"start": {"line": line, "character": start}, "end": {"line": line, "character": end}}


def words(name: str) -> list[dict[str, Any]]:
    return [
        {"uri": uri, "range": span(n, match.start(), match.end())}
        for uri, (_, text) in sorted(documents.items())
        for n, line in enumerate(text.split("\n"))
        for match in re.finditer(rf"\b{name}\b", line)
    ]


def symbols(uri: str) -> list[dict[str, Any]]:
    lines = documents[uri][1].split("\n")
    found = []
    for n, line in enumerate(lines):
        if match := re.match(r"def (\w+)", line):
            end = (
                next((i for i in range(n + 1, len(lines)) if lines[i] and not lines[i].startswith(" ")), len(lines)) - 1
            )
            whole = {"start": {"line": n, "character": 0}, "end": {"line": end, "character": 0}}
            name = {"name": match[1], "kind": 12, "range": whole, "selectionRange": span(n, 4, 4 + len(match[1]))}
            found.append(name)
    return found


def answer(method: str, params: dict[str, Any]) -> Any:
    uri = params.get("textDocument", {}).get("uri", "")
    at = params.get("position", {})
    if method == "initialize":
        if "crash" in modes:
            os._exit(3)
        while "held" in modes and not os.path.exists(sys.argv[1] + ".go"):
            time.sleep(0.01)
        kinds = ("hover", "definition", "references", "documentSymbol", "workspaceSymbol")
        can: dict[str, Any] = {f"{kind}Provider": True for kind in kinds}
        return {"capabilities": {**can, **({"diagnosticProvider": {}} if "pull" in modes else {})}}
    if method == "textDocument/diagnostic":
        return {"kind": "full", "items": errors(uri)}
    if method == "workspace/symbol":
        return [
            {"name": one["name"], "kind": 12, "location": {"uri": uri, "range": one["range"]}}
            for uri in documents
            for one in symbols(uri)
            if params["query"] in one["name"]
        ]
    if method == "textDocument/documentSymbol":
        return symbols(uri)
    if at:
        line = documents[uri][1].split("\n")[at["line"]]
        word = next((m[0] for m in re.finditer(r"\w+", line) if m.start() <= at["character"] <= m.end()), "")
        if method == "textDocument/hover":
            return {"contents": {"kind": "plaintext", "value": f"hover of {word}"}}
        hits = words(word)
        if method == "textDocument/definition":
            return [
                one
                for one in hits
                if documents[one["uri"]][1].split("\n")[one["range"]["start"]["line"]].startswith("def")
            ]
        return hits
    return None


while (message := read()) is not None:
    method, params = message.get("method", ""), message.get("params") or {}
    log.write(f"{os.getpid()} {method}\n")
    if method == "exit":
        break
    if (
        "id" in message
        and "slow" in modes
        and "SLOW" in documents.get(params.get("textDocument", {}).get("uri"), (0, ""))[1]
    ):
        continue
    if "id" in message:
        send({"id": message["id"], "result": answer(method, params)})
    elif method in ("textDocument/didOpen", "textDocument/didChange"):
        item = params["textDocument"]
        text = item["text"] if method.endswith("Open") else params["contentChanges"][0]["text"]
        documents[item["uri"]] = (item["version"], text)
        if "mute" in modes and "MUTE" in text:
            continue
        if "freeze" in modes and "FREEZE" in text:
            time.sleep(1000)
        if "pull" not in modes:
            version = {} if "silent" in modes else {"version": item["version"]}
            send(
                {
                    "method": "textDocument/publishDiagnostics",
                    "params": {"uri": item["uri"], "diagnostics": errors(item["uri"]), **version},
                }
            )
    elif method == "workspace/didChangeWatchedFiles":
        with open(sys.argv[1] + ".files", "a") as notices:
            notices.writelines(f"{one['type']} {one['uri'].rpartition('/')[2]}\n" for one in params["changes"])
    elif method == "textDocument/didClose":
        documents.pop(params["textDocument"]["uri"], None)
