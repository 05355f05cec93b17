"""A short replay of a long session: what is planted is kept or found after each compaction, also in another process."""

import json
from pathlib import Path

import pytest

from opencode_tui.storage.paths import find_paths
from tests.support.provider.model_server import ModelServer
from tests.support.sessions.replay import Driver, Plan, local_run, make_folder, settings, size_of

pytestmark = pytest.mark.slow


PLAN = Plan(turns=40, facts=40, restarts=(20,), context=20_000, output=2_000)


async def test_facts_are_kept_or_found_after_each_compaction_and_a_restart(
    environ: dict[str, str], tmp_path: Path
) -> None:
    folder = tmp_path / "project"
    make_folder(folder)
    with ModelServer() as server:
        variables = {**environ, "OPENCODE_CONFIG_CONTENT": json.dumps(settings(server, PLAN))}
        driver = Driver(PLAN, folder, server)
        session_id: str | None = None
        for first, last in ((1, 20), (21, PLAN.turns)):
            async with local_run(variables, folder, session_id) as run:
                session_id = run.session_id
                await driver.turns(run, first, last)
    result = driver.result
    assert result.compactions >= 3 and result.checked >= 30 and result.recalled >= 5
    assert (result.lost, result.unfound, result.unnamed) == ([], [], [])
    assert result.breaks == result.compactions
    assert result.written <= 3 * size_of(find_paths(environ).storage)
