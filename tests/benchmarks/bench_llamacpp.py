"""llama.cpp's own server through the finished commands: found, listed with its context, answered, and what a small context says.

Run: python -m tests.benchmarks llamacpp (half a minute; needs PyPI). `xllamacpp` of PyPI, which holds the server of llama.cpp, and
`gguf` are installed into a temporary folder, or found in the venv that LLAMA names. The model is made here: one layer with random
numbers, so what it writes has no meaning. The server listens on the port of its documentation, which must be free.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from opencode_tui.engine.provider.local_servers import PORTS
from tests.benchmarks.comparison import Figure, report
from tests.conftest import isolated_environment
from tests.support.world.cli import CommandLine

PORT = PORTS["llamacpp"]
LARGE, SMALL = 65_536, 1_024
"""Contexts in tokens."""

MODEL = """
import sys
import gguf
import numpy

random = numpy.random.default_rng(0)
tokens, width, inner, heads, context = 300, 32, 64, 2, 65_536
writer = gguf.GGUFWriter(sys.argv[1], "llama")
writer.add_name("tiny")
writer.add_context_length(context)
writer.add_embedding_length(width)
writer.add_block_count(1)
writer.add_feed_forward_length(inner)
writer.add_head_count(heads)
writer.add_head_count_kv(heads)
writer.add_layer_norm_rms_eps(1e-5)
writer.add_rope_dimension_count(width // heads)
writer.add_vocab_size(tokens)
writer.add_tokenizer_model("llama")
pieces = [b"<unk>", b"<s>", b"</s>", *(b"<0x%02X>" % byte for byte in range(256))]
kinds = [2, 3, 3, *[6] * 256]
words = [b"w%d" % number for number in range(len(pieces), tokens)]
writer.add_token_list([*pieces, *words])
writer.add_token_scores([0.0] * tokens)
writer.add_token_types([*kinds, *[1] * len(words)])
writer.add_bos_token_id(1)
writer.add_eos_token_id(2)
writer.add_unk_token_id(0)
writer.add_chat_template("{% for one in messages %}{{ one.role }}: {{ one.content }}\\n{% endfor %}assistant:")
shapes = {
    "token_embd": (tokens, width), "output": (tokens, width), "blk.0.attn_q": (width, width), "blk.0.attn_k": (width, width),
    "blk.0.attn_v": (width, width), "blk.0.attn_output": (width, width), "blk.0.ffn_gate": (inner, width),
    "blk.0.ffn_up": (inner, width), "blk.0.ffn_down": (width, inner),
}
for name, shape in shapes.items():
    writer.add_tensor(f"{name}.weight", (random.standard_normal(shape) * 0.1).astype(numpy.float32))
for name in ("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"):
    writer.add_tensor(f"{name}.weight", numpy.ones(width, numpy.float32))
writer.write_header_to_file()
writer.write_kv_data_to_file()
writer.write_tensors_to_file()
writer.close()
"""

SERVER = """
import sys
import xllamacpp

given = xllamacpp.CommonParams()
given.model.path, given.port, given.n_ctx = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
given.hostnames, given.n_parallel, given.warmup = ["127.0.0.1"], 1, False
server = xllamacpp.Server(given)
sys.stdin.read()
"""


def check(is_true: bool, what: str, about: object = "") -> None:
    """Raise AssertionError, with what is wrong, unless something holds."""
    if not is_true:
        raise AssertionError(f"{what}: {str(about)[-1500:]}")


@contextmanager
def running(python: str, folder: Path, context: int) -> Generator[None]:
    """Run llama.cpp's server with a context of so many tokens until the context is left."""
    command = [python, "-c", SERVER, "tiny.gguf", str(PORT), str(context)]
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=log, stderr=log)
        try:
            deadline = time.monotonic() + 60
            while not _is_up():
                is_late = process.poll() is not None or time.monotonic() > deadline
                check(not is_late, "llama.cpp did not start", (folder / "server.log").read_text()[-800:])
                time.sleep(0.1)
            yield
        finally:
            process.kill()
            process.wait()


def _is_up() -> bool:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"http://127.0.0.1:{PORT}/props", timeout=5) as answer:
            return bool(json.load(answer))
    except (urllib.error.HTTPError, OSError, ValueError):
        return False


def run(python: str, folder: Path) -> None:
    """Use the server with a large and with a small context. Raises AssertionError."""
    (folder / "project").mkdir()
    environ = isolated_environment(folder / "home")
    environ.pop("OPENCODE_DISABLE_LOCAL_MODELS", None)
    line = CommandLine(folder / "project", environ, settings={"local_models": True}, model="llamacpp/tiny.gguf")
    subprocess.run([python, "-c", MODEL, "tiny.gguf"], cwd=folder, check=True)
    with running(python, folder, LARGE):
        listed = line.run("models", "llamacpp")
        check("llama.cpp is running: 1 model" in listed.stderr, "the server is not found", listed)
        check("llamacpp/tiny.gguf   65.5 k" in listed.stdout, "the context is not that of the server", listed)
        done = line.turn("Say hello.")
        texts = [part["text"] for part in done.parts("text")]
        check(done.code == 0 and any(texts), "the server's answer does not arrive", done)
    with running(python, folder, SMALL):
        listed = line.run("models", "llamacpp")
        check("a context of 1024 tokens" in listed.stderr, "a small context is not named", listed)
        check("start llama-server with `-c 32768`" in listed.stderr, "nothing says how to raise it", listed)
        done = line.turn("Say hello.")
        words = f"{done.stdout}{done.stderr}"
        check(done.code != 0 and "the context is full" in words, "a request that does not fit is not named", done)


def _install(folder: Path) -> str:
    print("installing xllamacpp and gguf …", flush=True)
    subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
    subprocess.run([str(folder / "venv/bin/pip"), "install", "--quiet", "xllamacpp", "gguf"], check=True)
    return str(folder / "venv/bin/python")


def main() -> int:
    """Use the real server, print what fails and return the exit code."""
    with socket.socket() as probe:
        if probe.connect_ex(("127.0.0.1", PORT)) == 0:
            print(f"skipped: another program listens on port {PORT}")
            return 0
    failed = 0
    with tempfile.TemporaryDirectory() as text:
        named = os.environ.get("LLAMA")
        python = f"{named}/bin/python" if named else _install(Path(text))
        try:
            run(python, Path(text))
        except AssertionError as error:
            failed = 1
            print(f"FAILED: {error}")
    return report([Figure("what fails with llama.cpp's server", failed, 0, "")])


if __name__ == "__main__":
    sys.exit(main())
