"""Secrets in folders that commands may read are hidden in both tiers, those of the system and those of tools."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from opencode_tui.engine.sandbox.secret_files import tool_secrets
from opencode_tui.storage.paths import Paths
from tests.engine.sandbox.conftest import require_tier
from tests.engine.sandbox.test_sandbox import World
from tests.support.world.repo import make_repo

SECRETS = {
    ".local/share/uv/credentials/credentials.toml": "x",
    ".dotnet/corefx/cryptography/x509stores/my/key.pfx": "x",
    ".local/share/pypoetry/auth.toml": "x",
    ".composer/auth.json": "x",
    ".pulumi/credentials.json": "x",
    ".fly/config.yml": "access_token: x",
    ".foundry/keystores/deployer": "x",
    ".npm-global/etc/npmrc": "//registry.npmjs.org/:_authToken=x",
    ".pub-cache/credentials.json": "x",
    ".wasmer/wasmer.toml": "token = 'x'",
    "newtool/.netrc": "x",
    "newtool/etc/pip.conf": "index-url = https://me:x@example.org/simple",
    "miniconda3/.condarc": "channels: [https://me:x@example.org/t]",
}
PLAIN = {
    ".local/share/uv/tools/x/pyvenv.cfg": "home = /usr",
    ".npm-global/lib/x.js": "x",
    "newtool/lib/auth.json.js": "x",
    "newtool/settings.json": '{"color": "red"}',
    "miniconda3/etc/pip.conf": "index-url = https://example.org/simple",
}
FOLDERS = (".composer", ".pulumi", ".fly", ".foundry", ".npm-global", ".pub-cache", ".wasmer", "newtool", "miniconda3")


@pytest.fixture
def home(paths: Paths) -> Path:
    for name, text in {**SECRETS, **PLAIN}.items():
        (paths.home / name).parent.mkdir(parents=True, exist_ok=True)
        (paths.home / name).write_text(f"{text} CANARY")
    for name in FOLDERS:
        (paths.home / name / "bin").mkdir(exist_ok=True)
    return paths.home


@pytest.fixture(params=["bubblewrap", "landlock"])
def world(request: pytest.FixtureRequest, paths: Paths, environ: dict[str, str], home: Path) -> World:
    require_tier(request.param)
    make_repo(home / "project").write("a.txt", "a\n")
    environ["PATH"] = os.pathsep.join([*(str(home / name / "bin") for name in FOLDERS), environ["PATH"]])
    return World(request.param, paths, environ, home / "project")


@pytest.mark.fast_cases("bubblewrap")
async def test_secrets_of_tools_cannot_be_read_and_the_rest_can(world: World) -> None:
    names = " ".join((*SECRETS, *PLAIN))
    output = await world.run(f"cd ~; for one in {names}; do grep -sq CANARY $one && echo $one; done")
    assert output.splitlines() == list(PLAIN)


@pytest.mark.fast_cases("bubblewrap")
async def test_a_setting_opens_a_file_with_secrets(world: World) -> None:
    world.settings["readable"] = ["~/.pulumi/credentials.json"]
    assert "CANARY" in await world.run("cat ~/.pulumi/credentials.json")


def test_only_folders_of_tools_are_looked_at(home: Path) -> None:
    (home / "work").mkdir()
    (home / "work/credentials.json").write_text("x")
    assert set(tool_secrets(home, [home / "newtool"])) == {home / "newtool/.netrc", home / "newtool/etc/pip.conf"}
    assert tool_secrets(home, []) == ()


SYSTEM = {
    "ssl/private/own.pem": 0o644,
    "ssh/ssh_host_ed25519_key": 0o644,
    "kubernetes/admin.conf": 0o644,
    "wireguard/wg0.conf": 0o644,
    "letsencrypt/live/x/privkey.pem": 0o644,
    "NetworkManager/system-connections/home.nmconnection": 0o644,
    "krb5.keytab": 0o644,
    "ppp/chap-secrets": 0o644,
    "openvpn/client.conf": 0o644,
    "sudoers.d/me": 0o644,
    "unknown-service/for-root": 0o640,
    "unknown-folder/inside/file": 0o644,
    "nginx/tls/site.key": 0o644,
}
"""Files below /etc with their modes."""

_SCRIPT = """
import asyncio, os, sys
from pathlib import Path
sys.path[:0] = sys.argv[1:2]
for line in sys.argv[3:]:
    name, mode = line.split(":")
    path = Path("/etc", name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("-----BEGIN PRIVATE KEY----- CANARY")
    path.chmod(int(mode, 8))
Path("/etc/unknown-folder").chmod(0o700)
Path("/etc/plain").write_text("PLAIN")
from tests.engine.sandbox.confined import Confined
base = Path("/tmp/base")
base.mkdir()
confined = Confined(sys.argv[2], base)
print(confined.run("cat " + " ".join("/etc/" + line.split(":")[0] for line in sys.argv[3:]) + "; cat /etc/plain")[1])
"""


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="makes an /etc of its own, as root")
@pytest.mark.parametrize("tier", ["bubblewrap", "landlock"])
def test_as_root_the_secrets_of_the_system_cannot_be_read(tier: str) -> None:
    require_tier("bubblewrap")
    require_tier("landlock") if tier == "landlock" else None
    root = str(Path(__file__).parents[3])
    inside = [
        "bwrap",
        "--unshare-net",
        "--bind",
        "/",
        "/",
        "--dev-bind",
        "/dev",
        "/dev",
        "--tmpfs",
        "/tmp",
        "--tmpfs",
        "/etc",
    ]
    for place in (root, sys.prefix):  # they may lie in the folder of temporary files
        inside += ["--ro-bind", place, place]
    for name in ("alternatives", "ld.so.cache", "passwd", "group", "ssl/certs"):
        inside += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]

    command = [
        *inside,
        sys.executable,
        "-c",
        _SCRIPT,
        root,
        tier,
        *(f"{name}:{mode:o}" for name, mode in SYSTEM.items()),
    ]
    done = subprocess.run(command, capture_output=True, text=True, cwd=root, check=False)
    assert done.returncode == 0, done.stderr
    assert "PLAIN" in done.stdout
    assert "CANARY" not in done.stdout
    assert done.stdout.count("ermission denied") + done.stdout.count("No such file") == len(SYSTEM)
