"""Random keys while a turn streams: none is lost, none is reordered, none answers a question that it was not meant for."""

from pathlib import Path

from tests.support.terminal.random_keys import stress


async def test_random_keys_while_a_turn_streams(environ: dict[str, str], folder: Path) -> None:
    async with stress(environ, folder, seed=3) as keys:
        faults = [fault for number in range(3) for fault in await keys.round(number)]
    assert faults == []
