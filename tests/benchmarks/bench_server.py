"""The HTTP server compared with the engine in the process: many prompts from many clients, many listeners of a fast stream."""

import asyncio
import json
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from opencode_tui.client.client import EventReader
from opencode_tui.schema.api.request import CreateSession, PromptInput, TextInput
from opencode_tui.schema.event.event import BusLagged, PartGrowth, PartProgress
from opencode_tui.schema.model import ModelRef
from tests.benchmarks.comparison import Figure, report
from tests.benchmarks.rounds import rounds
from tests.conftest import isolated_environment
from tests.support.provider.model_script import Answer
from tests.support.provider.model_server import ModelServer
from tests.support.world.repo import make_repo
from tests.support.world.server import MODEL, PASSWORD, HttpFace, served

CLIENTS = 20
PROMPTS = 50
LISTENERS = 50
IDLE = 5
TEXT = "abcd" * 8_000
STREAMS = 9
HEAD_GOAL = 3
STREAM_GOAL = 1.2
FLOOD_MB = 60
MEMORY_GOAL = 200


async def measure_prompts(face: HttpFace) -> list[Figure]:
    """Return the time from a prompt to its being accepted (stored), over HTTP and in the process."""
    count = rounds(PROMPTS, 10)
    ours = statistics.median(await prompt_by_http(face, count))
    floor = statistics.median(await prompt_in_process(face, count))
    name = f"{CLIENTS * count} prompts of {CLIENTS} clients: sent to accepted"
    return [Figure(f"{name}, median", ours, HEAD_GOAL, floor=floor)]


async def prompt_by_http(face: HttpFace, count: int) -> list[float]:
    """Send prompts from another process, each client in its session."""
    sessions = [await face.session() for _ in range(CLIENTS)]
    command = ["-m", "tests.benchmarks.prompt_clients", face.address.url, PASSWORD, str(count), *sessions]
    clients = await asyncio.create_subprocess_exec(sys.executable, *command, stdout=asyncio.subprocess.PIPE)
    taken, _ = await clients.communicate()
    await check_answers(face, sessions, count)
    return json.loads(taken)


async def prompt_in_process(face: HttpFace, count: int) -> list[float]:
    """Do the same through the client inside the process."""
    client = await face.clients.at()
    model = ModelRef(provider_id=MODEL["providerID"], model_id=MODEL["modelID"])

    async def talk(session_id: str) -> list[float]:
        taken: list[float] = []
        for number in range(count):
            request = PromptInput(model=model, parts=[TextInput(text=f"number {number}")])
            begin = time.perf_counter()

            def stored(_id: str, begin: float = begin) -> None:
                taken.append((time.perf_counter() - begin) * 1000)

            await client.prompts.prompt(session_id, request, stored=stored)
        return taken

    sessions = [await face.session() for _ in range(CLIENTS)]
    taken = await asyncio.gather(*map(talk, sessions))
    await check_answers(face, sessions, count)
    return [ms for times in taken for ms in times]


async def check_answers(face: HttpFace, sessions: list[str], count: int) -> None:
    """Fail unless each session contains its prompts in order, with their answers."""
    for session_id in sessions:
        messages = await face.messages(session_id)
        said = [m["parts"][0]["text"] for m in messages if m["info"]["role"] == "user"]
        answered = sum(m["info"].get("finish") == "stop" for m in messages)
        assert (said, answered) == ([f"number {number}" for number in range(count)], count)


async def measure_listeners(face: HttpFace, model: ModelServer) -> list[Figure]:
    """Return the time of a fast stream with fifty listeners, five of them not reading, and without any; and what was heard."""
    without, heard = [], []
    count = rounds(STREAMS, 3)
    for _ in range(count + 1):
        without.append(await stream_once(face, model))
    async with listening(face) as readers:
        with (await face.clients.at()).events() as bus:
            for _ in range(count + 1):
                heard.append(await stream_once(face, model))
            seen, published = await ask(readers), happened(bus)
        peak = peak_mb()
        await flood(face)
        grown = peak_mb() - peak
    events, digests, letters = zip(*seen, strict=True)
    return [
        Figure(
            f"32,000 characters with {LISTENERS} listeners, median",
            statistics.median(heard[1:]),
            STREAM_GOAL,
            floor=statistics.median(without[1:]),
        ),
        Figure(
            f"of {published} structural events lost or sent twice, worst",
            max(abs(published - one) for one in events),
            0,
            "",
        ),
        Figure("readers that received other events, or in another order", len(set(digests)) - 1, 0, ""),
        Figure("letters lost, worst", max(abs((count + 1) * len(TEXT) - one) for one in letters), 0, ""),
        Figure(f"memory that {FLOOD_MB} MB of events add, {IDLE} not reading", grown, MEMORY_GOAL, "MB"),
    ]


@asynccontextmanager
async def listening(face: HttpFace) -> AsyncGenerator[asyncio.subprocess.Process]:
    """Have fifty listen from another process; gives it when all are greeted."""
    readers = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.benchmarks.event_readers", face.address.url, PASSWORD,
        str(LISTENERS - IDLE), str(IDLE), stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert readers.stdin is not None and readers.stdout is not None
    assert await readers.stdout.readline() == b"ready\n"
    yield readers
    readers.stdin.close()
    await readers.wait()


async def ask(readers: asyncio.subprocess.Process) -> list[tuple[int, str, int]]:
    """Return what each reader has seen once it had time to read on."""
    assert readers.stdin is not None and readers.stdout is not None
    await asyncio.sleep(1)
    readers.stdin.write(b"count\n")
    return json.loads(await readers.stdout.readline())


async def flood(face: HttpFace) -> None:
    """Tell so many structural events that no queue may hold them all."""
    session_id = await face.session()
    for _ in range(FLOOD_MB):
        await face.http.patch(f"/session/{session_id}", json={"title": "x" * 1_000_000})


def happened(bus: EventReader) -> int:
    """Return how many structural events the engine has published."""
    count = 0
    while (envelope := bus.poll()) is not None:
        assert not isinstance(envelope.event, BusLagged), "the measure itself has lost events"
        count += not isinstance(envelope.event, PartGrowth | PartProgress)
    return count


def peak_mb() -> float:
    """Return the most memory that this process, the server's, has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


async def stream_once(face: HttpFace, model: ModelServer) -> float:
    """Return the milliseconds of one turn whose answer comes as fast as it can."""
    model.script(Answer(text=TEXT, delta_size=4))
    client = await face.clients.at()
    session = await client.sessions.create(CreateSession())
    begin = time.perf_counter()
    request = PromptInput(
        model=ModelRef(provider_id="fake", model_id="fake-model"), parts=[TextInput(text="write much")]
    )
    await client.prompts.prompt(session.id, request)
    return (time.perf_counter() - begin) * 1000


async def measure(folder: Path) -> int:
    """Measure both and return the exit code."""
    home = folder / "home"
    home.mkdir()
    repo = make_repo(folder / "project")
    repo.commit("begin")
    with ModelServer() as model:
        async with served(repo.path, isolated_environment(home), provider=model.config()) as face:
            figures = [*await measure_prompts(face), *await measure_listeners(face, model)]
    return report(figures)


def main() -> int:
    """Measure in a folder of its own."""
    with tempfile.TemporaryDirectory() as name:
        return asyncio.run(measure(Path(name).resolve()))


if __name__ == "__main__":
    sys.exit(main())
