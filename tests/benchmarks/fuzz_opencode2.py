"""Requests that Schemathesis makes up from OpenCode 2's description, against our server: no error of it, no answer outside it.

The description is that of OpenCode, with the IDs of sessions, messages and requests that exist among those tried. Terminals
are off: made-up commands would run. The two streams, which never end, and `wait` are left out.

`python -m tests.benchmarks.fuzz_opencode2 [SECONDS]`; Schemathesis is the extra `fuzz`.
"""

import asyncio
import copy
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.benchmarks.rounds import rounds
from tests.conftest import isolated_environment
from tests.support.opencode2.client import Newer
from tests.support.opencode2.description import document
from tests.support.provider.model_server import ModelServer
from tests.support.world.repo import make_repo
from tests.support.world.server import PASSWORD, served

SECONDS = rounds(1_200, 60)
LEFT_OUT = ("v2.event.subscribe", "v2.session.events", "v2.session.wait")
CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"


async def fill(newer: Newer) -> dict[str, list[str]]:
    """Create what requests can be about; return the values of parameters by their names."""
    done = await newer.session()
    first = await newer.say(done, '<<reason why>> <<tool write {"path": "b.txt", "content": "b"}>>')
    await newer.say(done, "second")
    asking, questions, busy = await newer.session(), await newer.session(), await newer.session()
    option = '{"label": "A", "description": "a"}'
    async with newer.events() as events:
        await newer.prompt(asking, '<<tool read {"path": "a.env"}>>')
        permission = (await events.until("permission.v2.asked"))[-1]["data"]["id"]
        question = f'{{"question": "Which?", "header": "H", "options": [{option}]}}'
        await newer.prompt(questions, f'<<tool question {{"questions": [{question}]}}>>')
        asked = (await events.until("question.v2.asked"))[-1]["data"]["id"]
    await newer.prompt(busy, "<<slow 200>> <<words 5000>>")
    return {
        "sessionID": [done, asking, questions, busy, "ses_none"],
        "messageID": [first["id"], "msg_none"],
        "requestID": [permission, asked, "per_none", "que_none"],
        "providerID": ["fake", "none"],
        "integrationID": ["fake", "openai", "none"],
        "credentialID": ["cred_openai", "none"],
    }


def described(values: dict[str, list[str]]) -> dict[str, Any]:
    """Return the description with these values for parameters of paths."""
    spec = copy.deepcopy(document())
    for methods in spec["paths"].values():
        for one in methods.values():
            for answer in one["responses"].values():
                answer.setdefault("description", "")
            for parameter in one.get("parameters", ()):
                if parameter["in"] == "path" and parameter["name"] in values:
                    parameter["schema"] = {"type": "string", "enum": values[parameter["name"]]}
    return spec


async def main(seconds: int) -> int:
    """Run Schemathesis and return its exit code."""
    with tempfile.TemporaryDirectory() as name, ModelServer() as model:
        folder = Path(name)
        repo = make_repo(folder / "project")
        repo.commit("begin", **{"a.py": "x = 1\n", "a.env": "KEY=1\n"})
        environ = isolated_environment(folder / "home")
        settings = {"model": "fake/fake-model"}
        async with served(repo.path, environ, provider=model.config(), settings=settings) as face:
            spec = folder / "spec.json"
            spec.write_text(json.dumps(described(await fill(Newer(face.http)))))
            left_out = [word for one in LEFT_OUT for word in ("--exclude-operation-id", one)]
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "schemathesis.cli", "run", str(spec)),
                *("-u", face.address.url, "-a", f"opencode:{PASSWORD}", "--no-color"),
                *("-c", CHECKS, "--request-timeout", "60", "--continue-on-failure", "--max-time", str(seconds)),
                *("--suppress-health-check", "all", *left_out),
                cwd=folder,
            )
            return await process.wait()


if __name__ == "__main__":
    sys.exit(asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else SECONDS)))
