"""Skills of the user outside the project: an agent reads them without a question, and changes them with one only."""

import os
from pathlib import Path

import pytest

from tests.engine.session.test_subagent import opened, prompt, tool_parts
from tests.support.provider.model_script import Answer, Call
from tests.support.world.repo import make_repo

pytestmark = pytest.mark.slow


SKILL = "---\nname: s\ndescription: d\n---\nold text\n"


def bash(command: str) -> Call:
    return Call("bash", {"command": command, "description": "x"})


def changes(file: str) -> list[Call]:
    folder = os.path.dirname(file)
    return [
        Call("write", {"filePath": file, "content": "evil"}),
        Call("edit", {"filePath": file, "oldString": "old", "newString": "evil"}),
        Call("multiedit", {"filePath": file, "edits": [{"oldString": "old", "newString": "evil"}]}),
        Call("apply_patch", {"patchText": f"*** Begin Patch\n*** Delete File: {file}\n*** End Patch"}),
        Call("write", {"filePath": f"{folder}/run.sh", "content": "evil"}),
        Call("apply_patch", {"patchText": f"*** Begin Patch\n*** Add File: {folder}/run.sh\n+evil\n*** End Patch"}),
        bash(f"echo evil > {folder}/run.sh"),
        bash(f"cp a.txt {folder}"),
        bash(f"sed -i s/old/evil/ {file}"),
        bash(f"rm {file}"),
        bash(f"cd {folder} && echo evil >> SKILL.md"),
        bash(f"mkdir {folder}/scripts"),
    ]


@pytest.mark.parametrize(
    "location", [".config/opencode-tui/skills/s", ".claude/skills/s", ".agents/skills/s", ".opencode/skills/s"]
)
async def test_every_change_of_a_global_skill_is_asked(environ: dict[str, str], tmp_path: Path, location: str) -> None:
    project = make_repo(tmp_path / "project").path
    (project / "a.txt").write_text("evil")
    file = Path(environ["HOME"]) / location / "SKILL.md"
    file.parent.mkdir(parents=True)
    file.write_text(SKILL)
    reading = [Call("read", {"filePath": str(file)}), bash(f"cat {file}")]
    calls = [*reading, *changes(str(file))]
    async with opened(environ, project, *(Answer(calls=(call,)) for call in calls), Answer(text="ok")) as (_, client):
        session = await prompt(client, "go")
        states = [part.state for part in await tool_parts(client, session.id)]
    assert [state.status for state in states] == ["completed"] * len(reading) + ["error"] * (len(calls) - len(reading))
    assert ["old text" in state.output for state in states[: len(reading)]] == [True] * len(reading)
    assert [state.error for state in states[len(reading) :] if "--auto" not in state.error] == []
    assert [path.name for path in file.parent.iterdir()] == ["SKILL.md"]
    assert file.read_text() == SKILL
