"""Ways in which the file of one record is damaged, by name."""

import random
from collections.abc import Callable
from pathlib import Path


def replaced_by_folder(path: Path, _: random.Random) -> None:
    path.unlink()
    path.mkdir()


def bit_flipped(path: Path, rng: random.Random) -> None:
    data = bytearray(path.read_bytes())
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    path.write_bytes(data)


MUTATIONS: dict[str, Callable[[Path, random.Random], object]] = {
    "truncated": lambda path, rng: path.write_bytes(path.read_bytes()[: rng.randrange(100)]),
    "zeroed": lambda path, rng: path.write_bytes(bytes(rng.randrange(5_000))),
    "wrong type": lambda path, rng: path.write_text(rng.choice(["[]", "null", "12", '"text"', "true", "{}"])),
    "wrong field": lambda path, rng: path.write_text(path.read_text().replace('"created": 1', '"created": [1]')),
    "another's": lambda path, _: path.write_text(path.read_text().replace('"id": "ses_', '"id": "ses_9')),
    "doubled": lambda path, rng: path.write_bytes(path.read_bytes() * 2),
    "huge": lambda path, rng: path.write_bytes(b"[" * 2_000_000),
    "folder": replaced_by_folder,
}
"""Each damages a session's record so that it cannot be read as one; a flipped bit may leave it readable."""
