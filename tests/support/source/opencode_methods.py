"""Writes the methods of OpenCode's own JS client with their routes: what its clients can call.

`npm install @opencode-ai/sdk@1.1.65` in a folder, then `python -m tests.support.source.opencode_methods FOLDER`. The package
has two clients: that of its main entry (1), and that of `/v2` (2), which OpenCode's screen, desktop and web applications use.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

TABLE = Path(__file__).with_name("opencode_methods.txt")
SOURCES = {"1": "gen/sdk.gen.js", "2": "v2/gen/sdk.gen.js"}

_CLASS = re.compile(r"^(?:export )?class (\w+)", re.MULTILINE)
_METHOD = re.compile(
    r"^    (\w+)\((?:parameters|options)[^)]*\) \{(?:(?!^    \}).)*?"
    r"\)\.(?:sse\.)?(get|post|put|patch|delete)(?:\.sse)?\(\{\s*url: \"([^\"]+)\"",
    re.MULTILINE | re.DOTALL,
)
_PART = re.compile(r"^\s+(?:get )?(\w+)(?:\(\) \{\s*return \(this\._\w+ \?\?=| =) new (\w+)\(", re.MULTILINE)


def methods(source: str) -> Iterator[tuple[str, str]]:
    """Yield the name (`session.create`) and the route (`POST /session`) of each method of the generated client."""
    starts = [(match[1], match.start()) for match in _CLASS.finditer(source)]
    ends = [start for _, start in starts[1:]] + [len(source)]
    bodies = {name: source[start:end] for (name, start), end in zip(starts, ends, strict=True)}

    def walk(name: str, prefix: str) -> Iterator[tuple[str, str]]:
        for match in _METHOD.finditer(bodies[name]):
            yield f"{prefix}{match[1]}", f"{match[2].upper()} {match[3]}"
        for match in _PART.finditer(bodies[name]):
            yield from walk(match[2], f"{prefix}{match[1]}.")

    yield from walk("OpencodeClient", "")


def main(folder: Path) -> None:
    """Write the table."""
    rows: list[str] = []
    for number, name in SOURCES.items():
        source = (folder / "node_modules/@opencode-ai/sdk/dist" / name).read_text()
        found = sorted(set(methods(source)))
        missed = set(re.findall(r'url: "([^"]+)"', source)) - {route.split()[1] for _, route in found}
        assert not missed, f"{name}: no method found for {missed}"
        rows += [f"{number} {method} {route}" for method, route in found]
    TABLE.write_text("\n".join(rows) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
