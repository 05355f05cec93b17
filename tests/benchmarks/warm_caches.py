"""Tools with warm caches of the user, offline: the first and the second run inside, in each tier, beside an unconfined run.

Called by `python -m tests.benchmarks honest`. The user's home is a temporary folder whose caches the tools fill themselves: pip,
uv and npm from their registries, cargo and go from registries made here, Maven from Debian's repository.
The caches of the project are deleted before each first run; what a job makes in the project, before each run.
"""

import asyncio
import functools
import hashlib
import http.server
import io
import json
import os
import shutil
import statistics
import subprocess
import sys
import tarfile
import threading
import time
import zipfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from opencode_tui.config.settings.settings import SandboxSettings
from opencode_tui.engine.project.discover import discover
from opencode_tui.engine.sandbox.environment import Secrets
from opencode_tui.engine.sandbox.sandbox import Sandbox
from opencode_tui.engine.sandbox.temp import delete_caches
from opencode_tui.engine.sandbox.tier import Tier
from opencode_tui.engine.tool.process.process import Command, ShellProcess
from opencode_tui.storage.paths import find_paths
from tests.benchmarks.comparison import Figure

TIERS: tuple[Tier, ...] = ("bubblewrap", "landlock")
SECOND_RUN = 1.2
ROUNDS = 5
_CRATES = 40
_MODULES = 40
_TIMEOUT_MS = 300_000
_DEBIAN_REPOSITORY = Path("/usr/share/maven-repo")


@dataclass(frozen=True, slots=True)
class WarmJob:
    """An offline command in a project; `made` is what it makes there, `warm` the command that fills the user's cache, outside.

    `floor` are variables of the unconfined run that is compared with.
    """

    tool: str
    command: str
    warm: str
    made: Sequence[str]
    files: Mapping[str, str]
    needs: Sequence[str]
    environ: Mapping[str, str] = field(default_factory=dict[str, str])
    floor: Mapping[str, str] = field(default_factory=dict[str, str])


def _jobs(base: Path, port: int) -> list[WarmJob]:
    wheels = "requests rich jinja2 pyyaml packaging"
    crates = "\n".join(f'crate{number} = {{ version = "1.0.0", registry = "bench" }}' for number in range(_CRATES))
    modules = "".join(f'\t_ "example.org/module{number}"\n' for number in range(_MODULES))
    requires = "".join(f"\texample.org/module{number} v1.0.0\n" for number in range(_MODULES))
    go = {"GOFLAGS": "-mod=mod", "GONOSUMDB": "*", "GONOSUMCHECK": "1"}
    index = f"sparse+http://127.0.0.1:{port}/index/"
    pip = f"{base / 'tools/bin/python'} -m pip install -q --disable-pip-version-check --target out"
    return [
        WarmJob(
            "pip", f"{pip} --no-index --no-deps --no-build-isolation --find-links {base / 'wheels'} demo",
            f"{pip} --no-index --no-deps --no-build-isolation --find-links {base / 'wheels'} demo", ("out",), {}, (),
        ),
        WarmJob(
            "uv", f"uv pip install -q --offline --python {sys.executable} --target out {wheels}",
            f"uv pip install -q --python {sys.executable} --target out {wheels}", ("out",), {}, ("uv",),
            floor={"UV_LINK_MODE": "copy"},  # hard links would take a quarter of that
        ),
        WarmJob(
            "npm", "npm ci --offline --no-audit --no-fund", "npm install --no-audit --no-fund", ("node_modules",),
            {"package.json": json.dumps({"name": "a", "version": "1.0.0", "dependencies": {"eslint": "9", "typescript": "5"}})},
            ("npm",),
        ),
        WarmJob(
            "cargo", "cargo build -q --offline", "cargo build -q", ("target",),
            {
                "Cargo.toml": f'[package]\nname = "a"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\n{crates}\n',
                ".cargo/config.toml": f'[registries.bench]\nindex = "{index}"\n',
                "src/main.rs": 'fn main() { println!("{}", crate0::value()); }\n',
            },
            ("cargo",),
        ),
        WarmJob(
            "go", "go build -o out .", f"GOPROXY=file://{base / 'proxy'} go build -o out .", ("out",),
            {
                "go.mod": f"module example.org/a\n\ngo 1.19\n\nrequire (\n{requires})\n",
                "main.go": f"package main\n\nimport (\n{modules})\n\nfunc main() {{}}\n",
            },
            ("go",), {**go, "GOPROXY": "off"},
        ),
        WarmJob(
            "Maven", "mvn -o -q -s settings.xml compile", "mvn -o -q -s settings.xml compile", ("target",),
            {
                "pom.xml": _POM,
                "settings.xml": "<settings><offline>true</offline></settings>",
                "src/main/java/Cart.java": "public class Cart { }\n",
            },
            ("mvn", str(_DEBIAN_REPOSITORY / "org/apache/maven/plugins/maven-compiler-plugin")),
        ),
    ]  # fmt: skip


_POM = """<project><modelVersion>4.0.0</modelVersion><groupId>a</groupId><artifactId>b</artifactId><version>1</version>
<properties><maven.compiler.source>17</maven.compiler.source><maven.compiler.target>17</maven.compiler.target>
<project.build.sourceEncoding>UTF-8</project.build.sourceEncoding></properties></project>
"""


def measure_warm(base: Path) -> tuple[list[Figure], list[str]]:
    """Return the figures, and the tools that are left out with the reason."""
    make_registries(base)
    home = base / "home"
    home.mkdir()
    environ = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "OPENCODE_"))},
        "HOME": str(home),
        "MAVEN_OPTS": f"-Duser.home={home}",  # Java looks into passwd
        "PATH": f"{base / 'tools/bin'}{os.pathsep}{os.environ['PATH']}",
    }
    for variable, folder in (("RUSTUP_HOME", ".rustup"), ("PYENV_ROOT", ".pyenv")):
        if (Path.home() / folder).is_dir():
            environ.setdefault(variable, str(Path.home() / folder))
    _run(
        f"{sys.executable} -m venv {base / 'tools'} && {base / 'tools'}/bin/pip install -q uv setuptools wheel",
        base,
        dict(os.environ),
    )
    figures: list[Figure] = []
    left_out: list[str] = []
    with _serve(base / "crates") as port:
        jobs = _jobs(base, port)
        for job in jobs:
            _prepare(job, base / "work" / job.tool)
            here = {**environ, **job.environ}
            missing = [name for name in job.needs if not (shutil.which(name, path=here["PATH"]) or Path(name).exists())]
            problem = (
                f"{', '.join(missing)} missing"
                if missing
                else _run(job.warm, base / "work" / job.tool, here, may_fail=True)
            )
            if problem:
                left_out.append(f"{job.tool} with a warm cache: {problem}")
    for job in jobs:
        if not any(line.startswith(f"{job.tool} ") for line in left_out):
            figures += _measure(job, base / "work" / job.tool, {**environ, **job.environ})
    return figures, left_out


def _measure(job: WarmJob, project: Path, environ: dict[str, str]) -> list[Figure]:
    """Return the first run in each tier, and later ones in turns with unconfined ones, as a ratio."""
    figures: list[Figure] = []
    sandboxes: dict[Tier, Sandbox] = {tier: _sandbox(tier, project, environ) for tier in TIERS}
    first: dict[Tier, float] = {}
    for tier, sandbox in sandboxes.items():
        delete_caches(find_paths(environ), project)
        first[tier] = _timed(job, project, environ, sandbox)
    outside: list[float] = []
    inside: dict[Tier, list[float]] = {tier: [] for tier in TIERS}
    for number in range(ROUNDS + 1):  # the first round warms up
        for tier, sandbox in sandboxes.items():
            ms = _timed(job, project, environ, sandbox)
            inside[tier] += [ms] if number else []
        ms = _timed(job, project, {**environ, **job.floor}, None)
        outside += [ms] if number else []
    floor = statistics.median(outside)
    for tier in TIERS:
        print(f"{job.tool:<8} {tier:<11} unconfined {floor:.0f} ms, first {first[tier]:.0f} ms", flush=True)
        name = f"{job.tool}, warm cache, second run, {tier}"
        figures.append(Figure(name, statistics.median(inside[tier]), SECOND_RUN, "ms", floor))
    return figures


def _sandbox(tier: Tier, project: Path, environ: dict[str, str]) -> Sandbox:
    paths = find_paths(environ)
    return Sandbox(
        settings=SandboxSettings.model_validate({"tier": tier, "readable": [str(project.parent.parent)]}),
        project=discover(project, paths=paths, environ=environ),
        paths=paths,
        environ=environ,
        secrets=Secrets(environ),
    )


def _timed(job: WarmJob, project: Path, environ: dict[str, str], sandbox: Sandbox | None) -> float:
    """Return the milliseconds of a run, with its preparation. Raises SystemExit where it fails."""
    for name in job.made:
        made = project / name
        shutil.rmtree(made) if made.is_dir() else made.unlink(missing_ok=True)
    printed: list[bytes] = []
    cancel, end = os.pipe()
    started = time.perf_counter()
    launch = None
    if sandbox is not None:
        words = ["/bin/bash", "-c", "--", job.command]
        confined = asyncio.run(
            sandbox.confine(words, session_id="ses_warm", folder=project, environ=environ, read_only=False)
        )
        assert confined is not None, sandbox.find_status()
        launch = confined.launch
    ended = ShellProcess(
        Command(job.command, project, environ, _TIMEOUT_MS, "/bin/bash", launch), printed.append, cancel=cancel
    ).run()
    taken = (time.perf_counter() - started) * 1000
    os.close(cancel)
    os.close(end)
    if ended.exit_code != 0:
        where = "outside" if sandbox is None else sandbox.find_status().tier
        raise SystemExit(f"{job.tool}, {where}: {b''.join(printed).decode(errors='replace')[-1500:]}")
    return taken


def _prepare(job: WarmJob, project: Path) -> None:
    for name, text in job.files.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text)
    project.mkdir(parents=True, exist_ok=True)
    _run("git init -q", project, dict(os.environ))
    if job.tool == "Maven" and _DEBIAN_REPOSITORY.is_dir():
        (project.parent.parent / "home/.m2").mkdir(exist_ok=True)
        _run(
            f"cp -rL {_DEBIAN_REPOSITORY} ../../home/.m2/repository", project, os.environ, may_fail=True
        )  # some links dangle


def _run(command: str, folder: Path, environ: Mapping[str, str], *, may_fail: bool = False) -> str:
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, env=environ, capture_output=True, text=True, check=False, timeout=600
    )
    if done.returncode and not may_fail:
        raise SystemExit(f"{command}: {done.stdout[-500:]}{done.stderr[-500:]}")
    return (done.stdout + done.stderr).strip()[:700] if done.returncode else ""


@contextmanager
def _serve(folder: Path) -> Generator[int]:
    """Serve a folder on this machine, at the port that is returned, which stays the same for cargo's name of the registry."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    port = server.server_address[1]
    config = {"dl": f"http://127.0.0.1:{port}/files/{{crate}}-{{version}}.crate"}
    (folder / "index/config.json").write_text(json.dumps(config))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield port
    finally:
        server.shutdown()
        server.server_close()


def make_registries(base: Path) -> None:
    """Make the packages of pip, cargo and go."""
    (base / "wheels").mkdir()
    setup = "from setuptools import setup; setup(name='demo', version='1.0', packages=['demo'])\n"
    files = {
        "setup.py": setup,
        "demo/__init__.py": "VALUE = 1\n",
        "PKG-INFO": "Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n",
    }
    (base / "wheels/demo-1.0.tar.gz").write_bytes(_archive("demo-1.0", files))
    for number in range(_CRATES):
        _make_crate(base / "crates", f"crate{number}")
    for number in range(_MODULES):
        _make_module(base / "proxy" / f"example.org/module{number}/@v", f"example.org/module{number}")


def _make_crate(registry: Path, name: str) -> None:
    manifest = f'[package]\nname = "{name}"\nversion = "1.0.0"\nedition = "2021"\n'
    source = "pub fn value() -> i32 { 1 }\n" + "".join(
        f"pub fn f{n}(x: i32) -> i32 {{ x + {n} }}\n" for n in range(200)
    )
    crate = _archive(f"{name}-1.0.0", {"Cargo.toml": manifest, "src/lib.rs": source})
    (registry / "files").mkdir(parents=True, exist_ok=True)
    (registry / "files" / f"{name}-1.0.0.crate").write_bytes(crate)
    entry = {
        "name": name,
        "vers": "1.0.0",
        "deps": [],
        "cksum": hashlib.sha256(crate).hexdigest(),
        "features": {},
        "yanked": False,
    }
    path = registry / "index" / name[:2] / name[2:4] / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(entry) + "\n")


def _make_module(folder: Path, name: str) -> None:
    folder.mkdir(parents=True)
    manifest = f"module {name}\n\ngo 1.19\n"
    package = name.rpartition("/")[2]
    source = f"package {package}\n" + "".join(f"func F{n}(x int) int {{ return x + {n} }}\n" for n in range(200))
    (folder / "list").write_text("v1.0.0\n")
    (folder / "v1.0.0.info").write_text(json.dumps({"Version": "v1.0.0"}))
    (folder / "v1.0.0.mod").write_text(manifest)
    with zipfile.ZipFile(folder / "v1.0.0.zip", "w") as archive:
        archive.writestr(f"{name}@v1.0.0/go.mod", manifest)
        archive.writestr(f"{name}@v1.0.0/{package}.go", source)


def _archive(folder: str, files: Mapping[str, str]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(f"{folder}/{name}")
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    return packed.getvalue()
