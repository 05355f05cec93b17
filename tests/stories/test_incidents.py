"""Published incidents, replayed by a model that obeys: the damage stops at rules, at the sandbox, or at undo."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.hostile.incidents import INCIDENTS, Incident, files_of, replay, scene_of

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("incident", INCIDENTS, ids=lambda one: one.id)
def test_an_incident_does_no_damage(incident: Incident, tmp_path: Path, environ: dict[str, str]) -> None:
    with scene_of(tmp_path, environ) as scene:
        assert replay(incident, scene) == []


def test_damage_would_be_found(tmp_path: Path, environ: dict[str, str]) -> None:
    """The same calls on an incident that is not undone leave the project damaged, so the comparison can fail."""
    incident = next(one for one in INCIDENTS if one.id == "2025-gemini-cli-file-deletion")
    with scene_of(tmp_path, environ) as scene:
        before = files_of(scene)
        assert replay(replace(incident, is_undone=False), scene) == []
        assert files_of(scene) != before
        assert not (scene.project / "a.py").exists()
