"""Full texts of outputs: a session reads those of its worktree, those of other worktrees only if the user agrees."""

from pathlib import Path

from opencode_tui.storage.paths import find_paths
from tests.engine.session.test_subagent import opened, prompt, tool_parts
from tests.support.provider.model_script import Answer, Call
from tests.support.world.repo import make_repo

SECRET = "OTHER-PROJECT-5d1c"


async def test_outputs_of_another_project_are_not_read_unasked(environ: dict[str, str], tmp_path: Path) -> None:
    project = make_repo(tmp_path / "project").path
    outputs = find_paths(environ).tool_output
    own, other = find_paths(environ).tool_output_of(project), outputs / "other"
    for folder in (own, other):
        folder.mkdir(parents=True)
        (folder / "tool_1").write_text(SECRET if folder == other else "own output")
    (outputs / "tool_2").write_text(SECRET)
    calls = (
        Call("read", {"filePath": str(own / "tool_1")}),
        Call("bash", {"command": f"cat {own}/tool_1", "description": "x"}),
        Call("read", {"filePath": str(other / "tool_1")}),
        Call("read", {"filePath": str(outputs / "tool_2")}),
        Call("grep", {"pattern": "OTHER", "path": str(outputs)}),
        Call("bash", {"command": f"cat {other}/tool_1", "description": "x"}),
    )
    async with opened(environ, project, *(Answer(calls=(call,)) for call in calls), Answer(text="ok")) as (
        server,
        client,
    ):
        session = await prompt(client, "go")
        states = [part.state for part in await tool_parts(client, session.id)]
        assert [state.status for state in states] == ["completed", "completed", "error", "error", "error", "error"]
        assert ["own output" in state.output for state in states[:2]] == [True, True]
        assert SECRET not in str(server.bodies)
