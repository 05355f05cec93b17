"""Settings, agents, commands, skills and themes of a user, all of whose names and texts steer a terminal."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.support.provider.model_server import provider_config

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_UNPRINTED = re.compile(r"[^\x20-\x7e\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")


def write_settings(config: Path, strings: Sequence[str], base_url: str) -> None:
    """Write all of them into the user's folder of settings."""
    for folder in ("themes", "agents", "commands", "skills"):
        (config / folder).mkdir(parents=True)
    for one in strings[::5]:
        (config / "themes" / f"{_file_name(one)}.json").write_text("{}")
    for one in quiet(strings):
        _write_agent_and_command(config, one)
    for number, one in enumerate(strings[2::5]):
        _write_skill(config / "skills" / str(number), one)
    (config / "opencode.json").write_text(json.dumps(_settings(strings, base_url)))


def write_project(folder: Path, strings: Sequence[str]) -> None:
    """Write settings of the folder's own, which it would take trust to put in force."""
    (folder / ".opencode" / "commands").mkdir(parents=True)
    for one in quiet(strings)[:60]:
        (folder / ".opencode" / "commands" / f"{_file_name(one)}.md").write_text(f"!`ls`\n{one}", "utf-8")
    plugins = [f"./{one}.py" for one in quiet(strings)[60:120]]
    (folder / "opencode.json").write_text(json.dumps({"plugin": plugins}))


def quiet(strings: Sequence[str]) -> Sequence[str]:
    """Those that settings may hold: with a control character they are refused, in a line that shows it escaped."""
    return [one for one in strings if not _CONTROL.search(one)]


def providers(strings: Sequence[str]) -> Sequence[str]:
    """Return the display names of the providers; the model of each is called `by` and that name."""
    return quiet(strings)[1::5]


def _settings(strings: Sequence[str], base_url: str) -> dict[str, Any]:
    provider = provider_config(base_url)
    limit = {"context": 200_000, "output": 8_000}
    kept = quiet(strings)
    provider["fake"]["models"] |= {f"m{at}": {"name": one, "limit": limit} for at, one in enumerate(kept)}
    for at, one in enumerate(providers(strings)):  # an id may hold none of them, its model's id and both names may
        provider[f"p{at}"] = {**provider["fake"], "name": one, "models": {one: {"name": f"by {one}", "limit": limit}}}
    return {
        "model": "fake/fake-model",
        "provider": provider,
        "permission": {
            "bash": {"*": "allow", "rm *": "ask"},
            "webfetch": {"*": "allow", "https://example.invalid/*": "ask"},
            "read": {"*": "allow", "*.env": "ask"},
        },
        **dict.fromkeys(kept[:50], 1),
    }


def _write_agent_and_command(config: Path, text: str) -> None:
    for folder, head in (("agents", "mode: primary\n"), ("commands", "")):
        content = f"---\n{head}description: {_yaml(text)}\n---\n{text}\n"
        (config / folder / f"{_file_name(text)}.md").write_text(content, "utf-8")


def _write_skill(folder: Path, text: str) -> None:
    folder.mkdir()
    (folder / "SKILL.md").write_text(f"---\nname: {_yaml(text)}\ndescription: {_yaml(text)}\n---\n{text}\n", "utf-8")


def _file_name(text: str) -> str:
    return text.replace("/", "_").replace("\\", "_").replace("\0", "")[:80]  # no separators, a name refuses them


def _yaml(text: str) -> str:
    """A text in quotes; what YAML does not print is written as an escape, and is the character itself once it is read."""
    quoted = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + _UNPRINTED.sub(lambda found: f"\\U{ord(found.group()):08x}", quoted) + '"'
