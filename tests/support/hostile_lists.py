"""What lists, pages and the prompt show beside a conversation."""

from tests.support.hostile_talk import parts
from tests.support.hostile_world import HostileWorld
from tests.support.model_script import Answer

MOST_LINES = 12
"""Lines of a paste that still stand in the prompt themselves."""


def lists(world: HostileWorld) -> None:
    """Commands, agents, models, providers, themes, keys, from their first row to their last."""
    for command in ("/agents", "/models", "/themes", "/help"):
        world.command(command)
        world.page("pagedown", at_once=3)
        world.terminal.press("escape")
    world.terminal.press("ctrl+p")
    world.page("pagedown", at_once=3)
    world.terminal.press("escape")
    for letters in ("/w", "/p", "@w"):
        world.complete(letters)


def pages(world: HostileWorld) -> None:
    """The status of the folder, with the names of skills and what is wrong with the settings."""
    world.open_page("/status")
    world.page("pagedown")
    world.terminal.press("escape")


def trust(world: HostileWorld) -> None:
    """What a folder would start if one trusted it."""
    world.command("/trust")
    world.terminal.listens("leave it without effect")
    world.scroll_panel()
    world.terminal.press("escape")


def pastes(world: HostileWorld) -> None:
    """What is pasted: short, long and opened, as a filter of a list."""
    for part in parts(world.strings, MOST_LINES):
        world.terminal.paste("\n".join(part))
        world.terminal.calm()
        world.terminal.press("ctrl+c")
    world.terminal.paste("\n".join(world.strings))
    world.terminal.sees("[Pasted")
    world.terminal.press("ctrl+x", "v")
    world.page("pagedown")
    world.terminal.press("escape", "ctrl+c")
    world.terminal.press("ctrl+p")
    world.terminal.paste("".join(world.strings[:10]))
    world.terminal.press("escape")


def prompts(world: HostileWorld) -> None:
    """What was sent: in the chat, earlier prompts brought back, prompts put aside."""
    world.server.script_anew()
    for part in parts(world.texts.sparse, MOST_LINES):
        world.command("/new")
        world.server.script_anew(Answer(text="heard"))
        world.terminal.paste("\n".join(part))
        world.terminal.press("enter")
        world.terminal.sees("heard")
        world.read_through()
        world.terminal.press("up")
        world.choose("Put the prompt aside")
        world.choose("Bring the prompt back")
        world.terminal.press("ctrl+c")


def notes(world: HostileWorld) -> None:
    """What is told above the prompt: a name that a file cannot have, a command that does not exist, a failed one."""
    world.turn(Answer(text="said"))
    for part in parts(world.texts.sparse, 8):
        text = "".join(part).replace("\n", "")
        world.command("/export")
        world.terminal.press("ctrl+u")
        world.terminal.paste("no/such/../" + text)
        world.terminal.press("enter")
        world.command("/export")
        world.terminal.press("ctrl+u")
        world.terminal.paste("exported " + text)
        world.terminal.press("enter")
        world.terminal.paste("/" + text.replace("/", ""))
        world.terminal.press("escape", "enter")
        world.terminal.press("ctrl+c")
