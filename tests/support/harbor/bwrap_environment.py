"""An environment of Harbor without docker: bubblewrap with the system read-only, and a folder for what a task changes.

Only Harbor loads it, in a Python that has it.
"""

import asyncio
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from harbor.environments.base import (  # pyright: ignore[reportMissingImports] - only where Harbor is
    BaseEnvironment,
    ExecResult,
)
from harbor.environments.capabilities import (  # pyright: ignore[reportMissingImports] - only where Harbor is
    EnvironmentCapabilities,
)

WRITABLE = ("app", "logs", "tests", "solution", "tmp", "home")


class BwrapEnvironment(BaseEnvironment):  # pyright: ignore[reportUntypedBaseClass] - as above
    """Runs each command in a sandbox of its own over the same folders; `read` are further folders that it can read."""

    def __init__(self, *args: Any, read: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._read = [one for one in read.split(":") if one]
        self._root = Path(tempfile.mkdtemp(prefix="harbor-bwrap-"))

    @staticmethod
    def type() -> str:
        return "bwrap"

    @property
    def capabilities(self) -> EnvironmentCapabilities:
        return EnvironmentCapabilities()

    def _validate_definition(self) -> None:
        pass

    async def start(self, force_build: bool) -> None:
        for name in WRITABLE:
            (self._root / name).mkdir(parents=True, exist_ok=True)
        for name in ("agent", "verifier", "artifacts"):
            (self._root / "logs" / name).mkdir(parents=True, exist_ok=True)

    async def stop(self, delete: bool) -> None:
        shutil.rmtree(self._root, ignore_errors=True)

    def _host(self, path: str) -> Path:
        return self._root / path.lstrip("/")

    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        self._host(target_path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source_path, self._host(target_path))

    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        shutil.copytree(source_dir, self._host(target_dir), dirs_exist_ok=True)

    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        Path(target_path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(self._host(source_path), target_path)

    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        shutil.copytree(self._host(source_dir), target_dir, dirs_exist_ok=True)

    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,
        **_: Any,
    ) -> ExecResult:
        system = [
            one for name in ("usr", "bin", "lib", "lib64", "etc") for one in ("--ro-bind-try", f"/{name}", f"/{name}")
        ]
        more = [one for path in self._read for one in ("--ro-bind", path, path)]
        own = [one for name in WRITABLE for one in ("--bind", str(self._root / name), f"/{name}")]
        variables = {"PATH": os.environ["PATH"], "HOME": "/home", "LANG": "C.UTF-8", **(env or {})}
        process = await asyncio.create_subprocess_exec(
            "bwrap", "--tmpfs", "/", *system, *own, *more, "--dev", "/dev", "--proc", "/proc", "--unshare-pid",
            "--die-with-parent", "--chdir", cwd or "/app", "bash", "-c", command,
            env=variables, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        out, err = await asyncio.wait_for(process.communicate(), timeout_sec)
        return ExecResult(stdout=out.decode(), stderr=err.decode(), return_code=process.returncode or 0)
