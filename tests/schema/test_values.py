"""Values inside the program are `msgspec.Struct` classes that are frozen at run time."""

import importlib
import pkgutil

import pytest
from msgspec import Struct
from msgspec.structs import replace

import opencode_tui
from opencode_tui.engine.provider.llm import TextBlock
from opencode_tui.engine.provider.provider import Endpoint
from opencode_tui.server.guard import Credentials

WORKING_STATE = {
    "FoundMember",
    "Findings",
    "State",
    "Budget",
    "_Request",
    "Redirections",
    "SimpleCommand",
    "_Use",
    "_Sum",
}
"""What one scan of a shell command collects, what messages add up to, or a prompt until it is stored; nothing else changes."""

OWN_PROCESS = ("opencode_tui.engine.provider.litellm_child", "opencode_tui.__main__")


def struct_classes() -> list[type[Struct]]:
    """Return every struct class of the program."""
    for found in pkgutil.walk_packages(opencode_tui.__path__, "opencode_tui."):
        if found.name not in OWN_PROCESS:
            importlib.import_module(found.name)
    found_classes, unread = list[type[Struct]](), [Struct]
    while unread:
        below = unread.pop().__subclasses__()
        found_classes += [one for one in below if one.__module__.startswith("opencode_tui.")]
        unread += below
    return found_classes


@pytest.mark.slow
def test_every_struct_of_the_program_is_frozen() -> None:
    classes = struct_classes()
    assert len(classes) > 200
    assert {one.__qualname__ for one in classes if not one.__struct_config__.frozen} == WORKING_STATE


def test_a_value_refuses_a_new_content_and_a_new_name() -> None:
    block = TextBlock("text")
    for name in ("text", "other"):
        with pytest.raises(AttributeError):
            setattr(block, name, "changed")
    with pytest.raises(AttributeError):
        delattr(block, "text")
    assert replace(block, text="changed") == TextBlock("changed") != block == TextBlock("text")


def test_the_part_that_a_block_was_made_of_does_not_count_when_blocks_are_compared() -> None:
    assert TextBlock("text", part="prt_1") == TextBlock("text")
    assert len({TextBlock("text", part="prt_1"), TextBlock("text")}) == 1
    assert TextBlock("text", cache=True) != TextBlock("text")


def test_secrets_are_not_shown() -> None:
    endpoint = Endpoint("own", "https://host/v1", api_key="secret", headers={"x-key": "secret"})
    assert "secret" not in repr(endpoint) + repr(Credentials("secret")) and "https://host/v1" in repr(endpoint)
