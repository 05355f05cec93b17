"""Prints the entry for the registry of Agent Client Protocol agents (agent.json), for the version that a release builds.

    python packaging/acp_manifest.py VERSION

It has what pyproject.toml says and no more: an address that the project does not have is left out, and so is an icon. It can be
sent to the registry once the package index has this version: editors start it with `uvx`.
"""

import json
import sys
import tomllib
from pathlib import Path
from typing import Any


def manifest(version: str, project: dict[str, Any]) -> dict[str, Any]:
    """Return the entry for a version, from the table `project` of pyproject.toml."""
    name = project["name"]
    urls: dict[str, str] = project.get("urls", {})
    addresses = {"repository": urls.get("Repository"), "website": urls.get("Homepage")}
    return {
        "id": name,
        "name": name,
        "version": version,
        "description": project["description"],
        **{key: value for key, value in addresses.items() if value},
        "license": project["license"],
        "distribution": {"uvx": {"package": f"{name}=={version}", "args": ["acp"]}},
    }


if __name__ == "__main__":
    read = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))
    print(json.dumps(manifest(sys.argv[1], read["project"]), indent=2))
