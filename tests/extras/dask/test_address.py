"""Which addresses of schedulers are used: TLS, or this machine."""

from pathlib import Path

import pytest

from opencode_tui.batch.pool import TlsFiles
from opencode_tui.extras.dask.address import check_address
from opencode_tui.schema.error import ConfigError


@pytest.fixture
def tls(tmp_path: Path) -> TlsFiles:
    files = [tmp_path / name for name in ("ca.pem", "cert.pem", "key.pem")]
    for file in files:
        file.write_text("pem")
    return TlsFiles(*files)


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:8786", "tcp://[::1]:8786", "tcp://localhost:8786"])
def test_this_machine_needs_no_tls(address: str) -> None:
    check_address(address, None)


@pytest.mark.parametrize(
    "address",
    ["tcp://10.0.0.5:8786", "tcp://0.0.0.0:8786", "tcp://localhost.example.com:8786", "tcp://127.0.0.1.nip.io:1"],
)
def test_other_machines_are_refused_without_tls(address: str) -> None:
    with pytest.raises(ConfigError, match=r"can run commands on all machines.*use tls://"):
        check_address(address, None)


@pytest.mark.parametrize(
    "address", ["127.0.0.1:8786", "ws://127.0.0.1:8786", "tcp://127.0.0.1", "tcp://:1", "tcp://a:99999", ""]
)
def test_what_is_no_address_is_named(address: str) -> None:
    with pytest.raises(ConfigError, match=r"is not the address of a scheduler; write it as tls://HOST:PORT"):
        check_address(address, None)


def test_tls_needs_its_files(tls: TlsFiles) -> None:
    check_address("tls://10.0.0.5:8786", tls)
    with pytest.raises(ConfigError, match="needs --tls-ca, --tls-cert and --tls-key"):
        check_address("tls://10.0.0.5:8786", None)
    tls.key.unlink()
    with pytest.raises(ConfigError, match=r"key\.pem is not a file; check --tls-ca"):
        check_address("tls://10.0.0.5:8786", tls)
    with pytest.raises(ConfigError, match="has no TLS: remove"):
        check_address("tcp://127.0.0.1:8786", tls)
