"""`opencode-tui batch task`: one task of a batch, for the process that starts it."""

import click

from opencode_tui.batch.runner import run_task
from opencode_tui.batch.task import TaskOrder
from opencode_tui.cli.engine_access import run_main
from opencode_tui.schema.error import ConfigError


@click.command(hidden=True)
def task() -> int:
    """Run one task: its order is the first line of standard input, its result the last line of standard output.

    Lines before it have the cost so far. The task ends when standard input does.
    """
    import asyncio  # all of it not for the help
    import os
    import sys
    import threading
    from contextlib import suppress

    line = sys.stdin.buffer.readline()
    try:
        order = TaskOrder.model_validate_json(line)
    except ValueError:
        raise ConfigError("standard input has no order; run `opencode-tui batch TASKS` instead") from None

    def write(data: bytes) -> None:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()

    async def main() -> None:
        running, loop = asyncio.current_task(), asyncio.get_running_loop()
        assert running is not None

        def wait_for_end() -> None:
            while os.read(0, 4096):
                pass
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(running.cancel)

        threading.Thread(target=wait_for_end, name="end of input", daemon=True).start()
        result = await run_task(order, os.environ, lambda usd: write(b'{"cost": %.9f}\n' % usd))
        write(result.to_line())

    run_main(main)
    return 0
