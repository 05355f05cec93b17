"""The models that the user prefers are kept in a file, and a second press takes one back."""

from pathlib import Path
from typing import cast

from opencode_tui.client.client import Client
from opencode_tui.schema.model import Model, ModelRef
from opencode_tui.tui.state.model_selection import ModelSelection


def test_the_name_of_a_model_has_its_provider_where_another_provider_has_the_same() -> None:
    selection = ModelSelection(cast("Client", None))
    assert selection.name == "no model"
    selection.use(ModelRef(provider_id="direct", model_id="large"))
    assert selection.name == "large"
    selection.models = [Model(provider_id=one, model_id="large") for one in ("direct", "router")]
    assert selection.name == "direct/large"
    selection.use(ModelRef(provider_id="router", model_id="small"))
    assert selection.name == "small"
    selection.use(ModelRef(provider_id="demo", model_id="demo"))
    assert selection.name == "demo/demo"


async def test_a_favorite_is_added_and_removed_and_kept(tmp_path: Path) -> None:
    file = tmp_path / "favorites"
    selection = ModelSelection(cast("Client", None))
    selection.load_favorites(file)
    await selection.toggle_favorite("fake/one")
    await selection.toggle_favorite("fake/two")
    await selection.toggle_favorite("fake/one")
    again = ModelSelection(cast("Client", None))
    again.load_favorites(file)
    assert (selection.favorites, again.favorites) == (["fake/two"], ["fake/two"])
