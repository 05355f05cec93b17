"""The store against a dict: whatever is done to it in whatever order, it holds what was said last."""

import asyncio
import tempfile
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencode_tui.storage.keys import Key
from opencode_tui.storage.paths import find_paths
from opencode_tui.storage.storage import Storage

KEYS: list[Key] = [("todo", "a"), ("todo", "b"), ("part", "m", "x"), ("part", "m", "y")]
STEPS = st.tuples(
    st.sampled_from(["write", "grow", "remove", "remove tree", "flush", "sync", "wait"]), st.sampled_from(KEYS)
)
Step = tuple[Literal["write", "grow", "remove", "remove tree", "flush", "sync", "wait"], Key]


async def apply(storage: Storage, model: dict[Key, bytes], step: Step, number: int) -> None:
    act, key = step
    data = b"%d" % number
    match act:
        case "write":
            model[key] = data
            await storage.write(key, data)
        case "grow":
            model[key] = data
            storage.write_behind(key, lambda: data)
        case "remove":
            model.pop(key, None)
            await storage.remove(key)
        case "remove tree":
            for other in [other for other in model if other[:-1] == key[:-1]]:
                del model[other]
            await storage.remove_tree(key[:-1])
        case "flush":
            await storage.flush()
        case "sync":
            await storage.sync()
        case "wait":
            await asyncio.sleep(0.025)


@pytest.mark.slow
@settings(max_examples=25)
@given(st.lists(STEPS, max_size=25))
def test_store_holds_what_was_said_last(steps: list[Step]):
    async def run(folder: str) -> None:
        storage, model = Storage(find_paths({"HOME": folder})), dict[Key, bytes]()
        for number, step in enumerate(steps):
            await apply(storage, model, step, number)
        await storage.close()
        assert {key: storage.read_sync(key) for key in storage.list_sync(())} == model

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(run(folder))
