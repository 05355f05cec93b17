"""A small MCP server over standard input and output, without a library: started as a program by the tests.

Variables change it: `TOOLS` is its number of further tools (`tool_1` …), `FREEZE` is the method that is never answered (`all`: none
is), `START_S` delays the start, with `CRASH_AT_START` it exits with that code, `NOISE` is printed to standard error. `CHANGE` names
a file: while it exists there is a tool `late`; a call of `touch_list` announces changed lists. `LOG` names a file that gets a line
for each message.

The tools are in `tools`; `die` exits in the call, `slow` reports progress, `ask` asks the user. With `DEFAULTS` there is a tool
`defaults` with this schema. With `WAIT` there is a tool `wait`, which waits for a file, around which it makes `PATH.begun`
and `PATH.made`; what the file holds decides about the result. With `RAW` there is a tool `raw`, which writes a text as its answer,
byte by byte as in Latin-1 and with `ID` for the number of the request, and `flood`, which writes one to an output without end.
With `TASK` the tool `echo` runs only as a task, without an end where the text is `forever`. `ANSWERS` is an object of answers
by methods, a list of them for the requests one after the other, of which the last is repeated.
With `MODERN` it speaks the protocol of 2026-07-28, but says of no result that it is complete.
"""

import base64
import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

PIXEL = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"\0" * 24).decode()
SOUND = base64.b64encode(b"RIFF\x24\0\0\0WAVEfmt " + b"\0" * 24).decode()
_WRITING = threading.Lock()
_answers: dict[str, Any] = {}
_answered = threading.Event()
_written: dict[str, Any] = json.loads(os.environ.get("ANSWERS", "{}"))
_tasks: dict[str, Any] = {}


CACHED = {"ttlMs": 0, "cacheScope": "private"} if os.environ.get("MODERN") else {}


def tool(name: str, description: str, **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"name": name, "description": description, "inputSchema": schema}


def tools() -> list[dict[str, Any]]:
    text = {"type": "string"}
    task = {"execution": {"taskSupport": "required"}} if os.environ.get("TASK") else {}
    found = [
        {**tool("echo", "Repeats a text.", text=text), **task},
        tool("environment", "Lists variables."),
        tool("write", "Writes a file.", path=text, text=text),
        tool("die", "Ends the server."),
        tool("slow", "Works for a while.", seconds={"type": "number"}, steps={"type": "integer"}),
        tool("ask", "Asks the user."),
        tool("roots", "Lists roots."),
        tool("image", "Returns a picture."),
        tool("mixed", "Returns all kinds of content."),
        {**tool("structured", "Returns data."), "outputSchema": {"type": "object", "required": ["missing"]}},
        tool("fails", "Fails."),
        tool("touch_list", "Announces a changed list."),
    ]
    found += [
        tool(f"tool_{n}", f"Does the work of number {n}. " * 4, value=text)
        for n in range(int(os.environ.get("TOOLS", "0")))
    ]
    if schema := os.environ.get("DEFAULTS"):
        found.append({"name": "defaults", "description": "Has defaults.", "inputSchema": json.loads(schema)})
    if os.environ.get("WAIT"):
        found.append(tool("wait", "Waits for a file.", path=text))
    if os.environ.get("RAW"):
        found += [tool("raw", "Writes a text.", text=text), tool("flood", "Never ends.", text=text, output=text)]
    if os.path.exists(os.environ.get("CHANGE", "")):
        found.append(tool("late", "Came later."))
    return found


def send(message: dict[str, Any]) -> None:
    with _WRITING:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def text_result(text: str, **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], **more}


def ask_client(method: str, params: dict[str, Any]) -> Any:
    _answered.clear()
    send({"id": "server-1", "method": method, "params": params})
    _answered.wait(30)
    return _answers.get("server-1")


def call(name: str, given: dict[str, Any], token: Any) -> dict[str, Any]:
    match name:
        case "echo":
            return text_result(given["text"])
        case "environment":
            return text_result("\n".join(sorted(os.environ)))
        case "write":
            Path(given["path"]).write_text(given["text"])
            return text_result("written")
        case "die":
            print("the disk is on fire", file=sys.stderr, flush=True)
            os._exit(3)
        case "slow":
            for step in range(given["steps"]):
                time.sleep(given["seconds"] / given["steps"])
                if token is not None:
                    progress = {
                        "progressToken": token,
                        "progress": step + 1,
                        "total": given["steps"],
                        "message": f"step {step + 1}",
                    }
                    send({"method": "notifications/progress", "params": progress})
            return text_result("done")
        case "wait":
            path = given["path"]
            Path(f"{path}.begun").touch()
            if token is not None:
                send(
                    {
                        "method": "notifications/progress",
                        "params": {"progressToken": token, "progress": 1, "message": "waiting"},
                    }
                )
            while not os.path.exists(path):
                time.sleep(0.01)
            Path(f"{path}.made").touch()
            match Path(path).read_text():
                case "fail":
                    return text_result("it came too late", isError=True)
                case "picture":
                    return {"content": [{"type": "image", "data": PIXEL, "mimeType": "image/png"}]}
                case "ask":
                    return call("ask", {}, None)
                case text:
                    return text_result(f"it came: {text}")
        case "ask":
            properties = {
                "name": {"type": "string", "title": "Name", "default": "Ada"},
                "size": {"type": "integer", "default": 3},
                "sure": {"type": "boolean"},
                "color": {"type": "string", "enum": ["red", "green"]},
            }
            schema = {"type": "object", "properties": properties, "required": ["name", "sure"]}
            return text_result(
                json.dumps(
                    ask_client("elicitation/create", {"message": "Who?", "requestedSchema": schema}), sort_keys=True
                )
            )
        case "roots":
            return text_result(json.dumps(ask_client("roots/list", {})))
        case "image":
            return {"content": [{"type": "image", "data": PIXEL, "mimeType": "image/png"}]}
        case "mixed":
            return {
                "content": [
                    {"type": "text", "text": "one"},
                    {"type": "resource", "resource": {"uri": "test://note", "mimeType": "text/plain", "text": "two"}},
                    {"type": "resource_link", "uri": "test://link", "name": "three"},
                    {"type": "audio", "data": SOUND, "mimeType": "audio/wav"},
                ]
            }
        case "structured":
            return {"content": [], "structuredContent": {"answer": 42}}
        case "fails":
            return text_result(given.get("text", "it does not work"), isError=True)
        case "touch_list":
            for _ in range(5):
                send({"method": "notifications/tools/list_changed"})
            return text_result("announced")
        case _:
            return text_result(f"{name}: {json.dumps(given)}")


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    capabilities = {"tools": {"listChanged": True}, "prompts": {}, "resources": {}}
    match method:
        case "server/discover" if os.environ.get("MODERN"):
            return {
                "supportedVersions": ["2026-07-28"],
                "capabilities": capabilities,
                "serverInfo": {"name": "small", "version": "1"},
                **CACHED,
            }
        case "initialize" if not os.environ.get("MODERN"):
            return {
                "protocolVersion": params["protocolVersion"],
                "capabilities": capabilities,
                "serverInfo": {"name": "small", "version": "1"},
                "instructions": "Use echo to repeat texts.",
            }
        case "tools/list":
            return {"tools": tools(), **CACHED}
        case "tools/call" if "task" in params:
            _tasks["task-1"] = params
            return {
                "task": {"taskId": "task-1", "status": "working", "createdAt": "x", "lastUpdatedAt": "x", "ttl": None}
            }
        case "tools/call" if os.environ.get("TASK"):
            return None
        case "tasks/result":
            given = _tasks[params["taskId"]]["arguments"]
            while given["text"] == "forever":
                time.sleep(0.01)
            return call("echo", given, None)
        case "tasks/cancel":
            _tasks[params["taskId"]]["arguments"]["text"] = "canceled"
            return {"taskId": params["taskId"], "status": "cancelled"}
        case "tools/call":
            return call(params["name"], params.get("arguments") or {}, (params.get("_meta") or {}).get("progressToken"))
        case "prompts/list":
            arguments = [{"name": "topic", "description": "about what", "required": True}, {"name": "tone"}]
            return {"prompts": [{"name": "write-up", "description": "Writes about a topic", "arguments": arguments}]}
        case "prompts/get":
            given = params.get("arguments") or {}
            text = f"Write about {given.get('topic')} in a {given.get('tone', 'plain')} tone."
            return {"messages": [{"role": "user", "content": {"type": "text", "text": text}}]}
        case "resources/list":
            return {"resources": [{"uri": "test://note", "name": "note", "mimeType": "text/plain"}]}
        case "resources/templates/list":
            return {"resourceTemplates": []}
        case "resources/read":
            if params["uri"] == "test://picture":
                return {"contents": [{"uri": params["uri"], "mimeType": "image/png", "blob": PIXEL}]}
            if params["uri"] == "test://archive":
                return {"contents": [{"uri": params["uri"], "mimeType": "application/zip", "blob": PIXEL}]}
            if params["uri"] == "test://folder":
                texts = [{"uri": f"test://{name}", "text": f"text of {name}"} for name in ("a", "b")]
                return {"contents": [*texts, {"uri": "test://long", "text": "line\n" * 10_000}]}
            if params["uri"] != "test://note":
                return None
            return {"contents": [{"uri": params["uri"], "mimeType": "text/plain", "text": "the note of the server"}]}
        case "ping":
            return {}
        case _:
            return None


def write_raw(message: dict[str, Any], given: dict[str, Any]) -> None:
    """Write the text of a call of `raw` or `flood` to its output."""
    output = {"stdout": sys.stdout, "stderr": sys.stderr}[given.get("output", "stdout")].buffer
    data = given["text"].replace("ID", str(message["id"])).encode("latin-1")
    is_endless = "output" in given
    data = data * (65_536 // len(data)) if is_endless else data
    with _WRITING:
        while True:
            output.write(data)
            output.flush()
            if not is_endless:
                return


def serve(message: dict[str, Any]) -> None:
    if message["method"] == "tools/call" and message["params"]["name"] in ("raw", "flood"):
        write_raw(message, message["params"]["arguments"])
        return
    result = answer(message["method"], message.get("params") or {})
    if (written := _written.get(message["method"])) is not None:
        result = written if isinstance(written, dict) else written.pop(0) if len(written) > 1 else written[0]
    if result is None:
        send({"id": message["id"], "error": {"code": -32601, "message": f"no method {message['method']}"}})
    else:
        send({"id": message["id"], "result": result})


def main() -> None:
    print(os.environ.get("NOISE", ""), file=sys.stderr, flush=True)
    if code := os.environ.get("CRASH_AT_START"):
        sys.exit(int(code))
    time.sleep(float(os.environ.get("START_S", "0")))
    for line in sys.stdin:
        message = json.loads(line)
        if log := os.environ.get("LOG"):
            with open(log, "a") as file:
                file.write(json.dumps(message) + "\n")
        if "method" not in message:
            _answers[message["id"]] = message.get("result") or message.get("error")
            _answered.set()
        elif "id" in message and message["method"] != os.environ.get("FREEZE") and os.environ.get("FREEZE") != "all":
            threading.Thread(target=serve, args=(message,), daemon=True).start()


if __name__ == "__main__":
    main()
