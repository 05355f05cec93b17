"""The files that an installer leaves of a distribution of the program."""

import json
from importlib.metadata import Distribution
from pathlib import Path


def installed(folder: Path, origin: str = "") -> Distribution:
    """Return a distribution below `folder`, installed from an index, or with `origin`, an address, from there."""
    info = folder / "opencode_tui-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Name: opencode-tui\nVersion: 1\n")
    if origin:
        (info / "direct_url.json").write_text(json.dumps({"url": origin, "dir_info": {}}))
    return Distribution.at(info)
