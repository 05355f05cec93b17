"""A client made from the protocol's own schema: every message of both sides must be valid by it, an answer by its request.

`data/schema-v1.json.gz` and `data/schema-v2.json.gz` are the protocol's (Apache-2.0), without texts: `schema/v1/schema.json` of
`@agentclientprotocol/sdk` 2.4.0, and `schema/v2/schema.unstable.json` of agentclientprotocol/agent-client-protocol eleven commits
after 2.0.0-alpha.3, the draft of the Python SDK 1.0.0rc3.
"""

import gzip
import json
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

DATA = Path(__file__).parent / "data"
LATER = {1: {"PromptResponse": {"usage"}}, 2: {"PromptResponse": {"messageId"}}}
"""Fields that only the unstable or a later schema has; a client may ignore them."""


@cache
def definitions(version: int) -> dict[str, Any]:
    """Return the definitions of the schema."""
    return json.loads(gzip.decompress((DATA / f"schema-v{version}.json.gz").read_bytes()))["$defs"]


@cache
def _validator(version: int, name: str) -> Draft202012Validator:
    return Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": definitions(version)})


@cache
def _names(version: int, side: str) -> dict[tuple[str, str], str]:
    """Return the definition of each method that a side answers, by method and the end of the definition's name."""
    kinds = ("Request", "Response", "Notification")
    return {
        (one["x-method"], next(kind for kind in kinds if name.endswith(kind))): name
        for name, one in definitions(version).items()
        if one.get("x-side") in (side, "protocol")
    }


def _properties(version: int, definition: dict[str, Any]) -> set[str]:
    """Return the names of the properties that a definition has, in any of its forms."""
    forms = [one for kind in ("anyOf", "oneOf", "allOf") for one in definition.get(kind, ())]
    named = (definitions(version)[one["$ref"].rpartition("/")[2]] if "$ref" in one else one for one in forms)
    return {*definition.get("properties", ()), *(name for one in named for name in _properties(version, one))}


def check(version: int, side: str, method: str, kind: str, value: Any) -> None:
    """Raise AssertionError unless the value is valid for a method that the side answers."""
    name = _names(version, side).get((method, kind))
    assert name is not None, f"the protocol has no {kind} {method} for the {side}"
    found = _validator(version, name).iter_errors(value)
    faults = [f"{'/'.join(map(str, one.absolute_path))}: {one.message}" for one in found]
    known = _properties(version, definitions(version)[name])
    unknown = sorted(value.keys() - known - LATER[version].get(name, set())) if known else []
    assert (faults, unknown) == ([], []), (name, value)


class StrictClient:
    """The client of a process; it must answer in JSON lines only."""

    def __init__(self, process: "subprocess.Popen[bytes]", version: int = 1) -> None:
        self.process = process
        self.version = version
        assert process.stdin is not None and process.stdout is not None
        self._given, self._lines = process.stdin, process.stdout
        self._next = 0
        self._open: dict[int, str] = {}

    def notify(self, method: str, **params: Any) -> None:
        """Send a notification."""
        check(self.version, "agent", method, "Notification", params)
        self._send({"method": method, "params": params})

    def request(self, method: str, **params: Any) -> int:
        """Send a request; return its ID."""
        check(self.version, "agent", method, "Request", params)
        self._next += 1
        self._open[self._next] = method
        self._send({"id": self._next, "method": method, "params": params})
        return self._next

    def answer(self, asked: dict[str, Any], result: dict[str, Any]) -> None:
        """Answer a request of the agent."""
        check(self.version, "client", asked["method"], "Response", result)
        self._send({"id": asked["id"], "result": result})

    def send_anything(self, **message: Any) -> None:
        """Send a message, valid or not."""
        self._send(message)

    def receive(self) -> dict[str, Any]:
        """Return the next message of the agent."""
        line = self._lines.readline()
        assert line, "the agent has ended"
        message = json.loads(line)
        assert message["jsonrpc"] == "2.0"
        if "method" in message:
            kind = "Request" if "id" in message else "Notification"
            check(self.version, "client", message["method"], kind, message["params"])
            return message
        method = self._open.pop(message["id"])
        assert ("result" in message) != ("error" in message)
        if "error" in message:
            assert list(_validator(self.version, "Error").iter_errors(message["error"])) == []
        else:
            check(self.version, "agent", method, "Response", message["result"])
        return message

    def until(self, wanted: int | str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """Return the answer to a request or the next message of a method, and the messages before it."""
        before: list[dict[str, Any]] = []
        while True:
            message = self.receive()
            is_it = message.get("method") == wanted if isinstance(wanted, str) else message.get("id") == wanted
            if is_it and ("method" in message) == isinstance(wanted, str):
                return message, before
            before.append(message)

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a request; return the result."""
        return self.until(self.request(method, **params))[0]["result"]

    def _send(self, message: dict[str, Any]) -> None:
        self._given.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self._given.flush()
