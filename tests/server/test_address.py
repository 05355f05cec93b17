"""By which names a server may be called, and from where."""

import pytest

from opencode_tui.server.address import Address, is_loopback, is_own_origin
from tests.support.rows import each

LOOPBACK = Address("127.0.0.1", 4096)


@pytest.mark.parametrize(
    "name", ["127.0.0.1:4096", "localhost:4096", "LOCALHOST:4096", "[::1]:4096", "localhost.:4096"]
)
def test_a_loopback_server_answers_to_its_names(name):
    assert LOOPBACK.is_called(name)


@each(
    "name",
    ["", "127.0.0.1", "localhost:80", "evil.example:4096", "localhost.evil.example:4096", "10.0.0.1:4096", "a:b:4096",
     "127.0.0.1:4096:4096", "[::1]:4096]", "2130706433:4096", "127.0.0.1:99999999"],
)  # fmt: skip
def test_a_loopback_server_does_not_answer_to_other_names(name):
    assert not LOOPBACK.is_called(name)


def test_a_server_on_all_addresses_answers_to_any_of_them_but_to_no_foreign_name():
    everywhere = Address("0.0.0.0", 80)
    called = [
        name for name in ("192.168.1.5", "192.168.1.5:80", "evil.example", "[fe80::1]") if everywhere.is_called(name)
    ]
    assert called == ["192.168.1.5", "192.168.1.5:80", "[fe80::1]"]


def test_a_server_answers_to_the_name_that_it_was_given():
    assert Address("build.example", 4096).is_called("Build.Example:4096")


def test_an_address_is_written_so_that_a_client_can_use_it():
    assert [Address("::1", 4096).url, LOOPBACK.url] == ["http://[::1]:4096", "http://127.0.0.1:4096"]


def test_only_addresses_of_this_machine_are_loopback():
    hosts = ["127.0.0.1", "127.3.2.1", "::1", "localhost", "Localhost", "0.0.0.0", "::", "", "10.0.0.1", "example.com"]
    assert [host for host in hosts if is_loopback(host)] == hosts[:5]


def test_only_pages_of_this_machine_are_its_own():
    origins = ["http://localhost", "http://localhost:1", "http://127.0.0.1:65535"]
    foreign = ["null", "", "https://evil.example", "http://localhost.evil.example", "http://localhost:1@evil.example",
               "http://127.0.0.1.nip.io", "http://localhost:1/x", "http://localhost\n"]  # fmt: skip
    assert [origin for origin in origins + foreign if is_own_origin(origin)] == origins
