"""The MCP conformance suite for clients, through `opencode-tui run` and `opencode-tui mcp auth`.

Run: python -m tests.benchmarks mcp_conformance (two or three minutes; needs npm). npm's `@modelcontextprotocol/conformance` and
`node@24` are installed into a temporary folder, or found in the folder that CONFORMANCE names. SCENARIO runs one.

The suite starts a server for each scenario and this module as the client, which writes settings with the server's address, signs in
where the scenario is about that, and runs one prompt. A scripted model calls the tool of the scenario; a program that follows
redirects is the browser. A scenario passes if the suite finds neither a failure nor a warning, and the client ended as it should.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.benchmarks.comparison import Figure, report
from tests.conftest import isolated_environment
from tests.engine.mcp.sign_in_world import browser, free_port
from tests.support.provider.model_script import Answer, Call
from tests.support.provider.model_server import ModelServer
from tests.support.world.cli import PACKAGE_ROOT, CommandLine, Finished

SUITE, NODE = "@modelcontextprotocol/conformance@0.2.0-alpha.12", "node@24"

SCENARIOS = (
    "initialize", "tools_call", "elicitation-sep1034-client-defaults", "sse-retry", "request-metadata",
    *(f"auth/metadata-{one}" for one in ("default", "var1", "var2", "var3")), "auth/basic-cimd",
    *(f"auth/scope-{one}" for one in ("from-www-authenticate", "from-scopes-supported", "omitted-when-undefined")),
    "auth/scope-step-up", "auth/scope-retry-limit",
    *(f"auth/token-endpoint-auth-{one}" for one in ("basic", "post", "none")), "auth/pre-registration",
    "auth/2025-03-26-oauth-metadata-backcompat", "auth/2025-03-26-oauth-endpoint-fallback",
    "auth/resource-mismatch", "auth/offline-access-scope", "auth/offline-access-not-supported",
    "auth/authorization-server-migration", "auth/iss-supported", "auth/iss-not-advertised",
    *(f"auth/iss-{one}" for one in ("supported-missing", "wrong-issuer", "unexpected", "normalized")),
    "auth/metadata-issuer-mismatch", "sep-2322-client-request-state",
    *(f"http-{one}-headers" for one in ("standard", "custom", "invalid-tool")),
    *(f"json-schema-{one}" for one in ("ref-no-deref", "2020-12-preservation")),
)  # fmt: skip
"""All but those of extensions, which need credentials of machines or read skills from a server."""

ECHO = "json-schema-2020-12-preservation"
"""The scenario in which the schema of one tool is an argument of another."""

MIGRATION = "auth/authorization-server-migration"
"""The scenario in which a server changes the place where users sign in."""

FAILING = {
    ECHO: "the model reads the schema without `$schema`, which would cost tokens and tell it nothing; all else is there",
}
"""Scenarios that are known to fail, with the reason."""

Arguments = dict[str, Any]
TOOLS: dict[str, Sequence[tuple[str, Arguments]]] = {
    "initialize": (),
    "request-metadata": (),
    "json-schema-ref-no-deref": (),
    "tools_call": (("add_numbers", {"a": 5, "b": 3}),),
    "elicitation-sep1034-client-defaults": (("test_client_elicitation_defaults", {}),),
    "sse-retry": (("test_reconnection", {}),),
    "sep-2322-client-request-state": tuple(
        (f"test_mrtr_{one}", {}) for one in ("echo_state", "unrelated", "no_state", "no_result_type")
    ),
    "http-standard-headers": (("test_headers", {}), ("my-hyphenated-tool", {})),
    "http-invalid-tool-headers": (("valid_tool", {"region": "us-west1"}),),
}
"""The tools that are called, one after the other; where there is none, the tools are listed only. Default: `test-tool`."""

METADATA = "https://conformance-test.local/client-metadata.json"
"""The address that the suite expects as the ID of a client with a metadata document."""

SIGN_INS = 2
"""Most sign-ins of one scenario: the second where the first call demands more rights."""

_LIMIT_MS = 60_000


def client(scenario: str, url: str, context: dict[str, Any]) -> int:
    """Do what a user would do with the server of a scenario; return 0 if the call succeeded."""
    with tempfile.TemporaryDirectory() as text, ModelServer() as model:
        folder = Path(text)
        home, project = folder / "home", folder / "project"
        home.mkdir()
        project.mkdir()
        oauth: dict[str, Any] = {"callbackPort": free_port()}
        if scenario == "auth/basic-cimd":
            oauth["clientId"] = METADATA
        if "client_id" in context:
            oauth |= {"clientId": context["client_id"], "clientSecret": context["client_secret"]}
        line = CommandLine(
            project,
            {**isolated_environment(home), "BROWSER": browser(folder)},
            provider=model.config(),
            settings={
                "mcp": {"server": {"type": "remote", "url": url, "oauth": oauth, "unattended": "defaults"}},
                "permission": {"server_*": "allow"},
            },
        )
        left = SIGN_INS
        if scenario.startswith("auth/"):
            left -= 1
            done = _sign_in(line)
            if (
                done.code and scenario == MIGRATION
            ):  # the first request with the token moves the server: it demands another one
                left -= 1
                done = _sign_in(line)
            if done.code:
                return done.code
        calls = _calls(line, model, scenario, context)
        # A sign-in is another command, so that each call before and after it is a turn of its own.
        for group in [[call] for call in calls] if scenario.startswith("auth/") else [calls]:
            while True:
                states = _states_of(line, model, group)
                if [state["status"] for state in states] == ["completed"] * len(group):
                    break
                if not left or "mcp auth" not in json.dumps(states):
                    return 1
                left -= 1
                if (done := _sign_in(line)).code:
                    return done.code
    return 0


def _calls(line: CommandLine, model: ModelServer, scenario: str, context: Arguments) -> Sequence[Call]:
    """Return the calls of a scenario."""
    tools = [(one["name"], one["arguments"]) for one in context.get("toolCalls", ())]
    if scenario == ECHO:
        [found] = _states_of(line, model, [Call("mcp_search", {"query": "json_schema_2020_12_tool"})])
        tools = [("json_schema_echo", {"schema": _schema_in(found["output"])})]
    tools = tools or TOOLS.get(scenario, (("test-tool", {}),))
    if not tools:
        return [Call("mcp_search", {"query": "anything"})]
    return [Call("mcp_call", {"tool": f"server_{name}", "arguments": arguments}) for name, arguments in tools]


def _states_of(line: CommandLine, model: ModelServer, calls: Sequence[Call]) -> list[Arguments]:
    """Return the states of calls after a turn in which one follows the other; none when the turn failed."""
    model.script_anew(*(Answer(calls=(call,)) for call in calls), Answer(text="Done."))
    result = line.turn("Use the tools of the server.")
    made = result.parts("tool_use")
    sys.stderr.write(f"{result.stderr}{json.dumps(made)}\n")
    return [] if result.code else [one["state"] for one in made]


def _schema_in(found: str) -> Arguments:
    """Return the schema of the first tool that a search found."""
    return json.loads(found.splitlines()[1])


def _sign_in(line: CommandLine) -> Finished:
    done = line.run("mcp", "auth", "server")
    sys.stderr.write(done.stderr)
    return done


def _install(folder: Path) -> Path:
    print(f"installing {SUITE} and {NODE} …", flush=True)
    subprocess.run(
        ["npm", "install", "--no-audit", "--no-fund", "--silent", "--prefix", str(folder), SUITE, NODE], check=True
    )
    return folder


def run_scenario(programs: Path, scenario: str) -> tuple[bool, str]:
    """Return whether a scenario passes, and what the suite found otherwise."""
    environ = {**os.environ, "PYTHONPATH": str(PACKAGE_ROOT), "NO_PROXY": "*"}
    suite = programs / "node_modules/@modelcontextprotocol/conformance/dist/index.js"
    client_command = f"{sys.executable} -m tests.benchmarks.bench_mcp_conformance --client"
    command = [
        str(programs / "node_modules/node/bin/node"),
        *(str(suite), "client", "--scenario", scenario, "--timeout", str(_LIMIT_MS), "--command", client_command),
    ]
    done = subprocess.run(command, cwd=PACKAGE_ROOT, env=environ, capture_output=True, text=True, check=False)
    if os.environ.get("SCENARIO"):
        sys.stdout.write(f"{done.stdout}\n{done.stderr}\n")
    found = re.findall(r"^ {2}- (.*)$", done.stderr, re.MULTILINE) or re.findall(
        r"^.*(?:ended|exited|timed out).*$", done.stderr, re.I | re.M
    )
    return done.returncode == 0, "; ".join(found)


def main() -> int:
    """Run all scenarios, print those that fail and return the exit code."""
    chosen = [one for one in SCENARIOS if os.environ.get("SCENARIO", one) == one]
    passed = 0
    unexpected: list[str] = []
    with tempfile.TemporaryDirectory() as text:
        named = os.environ.get("CONFORMANCE")
        programs = Path(named) if named else _install(Path(text))
        for scenario in chosen:
            begin = time.monotonic()
            is_passed, found = run_scenario(programs, scenario)
            passed += is_passed
            if is_passed == (scenario in FAILING):
                unexpected.append(scenario)
            verdict = "passed" if is_passed else f"FAILED: {found}"
            known = f" (known: {FAILING[scenario]})" if scenario in FAILING and not is_passed else ""
            print(f"{scenario:<44} {time.monotonic() - begin:4.0f} s  {verdict}{known}", flush=True)
    print(f"{passed} of {len(chosen)} scenarios pass")
    return report([Figure("scenarios that fail, or pass against what is known", len(unexpected), 0, "")])


if __name__ == "__main__":
    if sys.argv[1:2] == ["--client"]:
        given = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
        sys.exit(client(os.environ["MCP_CONFORMANCE_SCENARIO"], sys.argv[2], given))
    sys.exit(main())
