"""What a request to a server of models says of its address."""

import pytest

from opencode_tui.engine.provider.connections import new_request


@pytest.mark.parametrize(
    ("url", "target", "host"),
    [
        ("http://a.example/v1", b"http://a.example/v1", b"a.example"),
        ("http://a.example:80/v1", b"http://a.example/v1", b"a.example"),
        ("https://a.example:443/v1?q=a b", b"https://a.example/v1?q=a%20b", b"a.example"),
        ("https://a.example:80/v1", b"https://a.example:80/v1", b"a.example:80"),
        ("http://a.example:11434/v1", b"http://a.example:11434/v1", b"a.example:11434"),
        ("http://[::1]:80/v1", b"http://[::1]/v1", b"[::1]"),
        ("http://[::80]/v1", b"http://[::80]/v1", b"[::80]"),
        ("http://[::1]:8080/v1", b"http://[::1]:8080/v1", b"[::1]:8080"),
        ("http://me:pass@a.example:80/v1", b"http://a.example/v1", b"a.example"),
        ("http://bücher.example/ä", b"http://xn--bcher-kva.example/%C3%A4", b"xn--bcher-kva.example"),
    ],
)
def test_an_address_has_no_login_and_no_port_that_its_scheme_implies(url: str, target: bytes, host: bytes) -> None:
    request = new_request("GET", url, {}, b"", {})
    assert bytes(request.url) == target.replace(b"[", b"").replace(b"]", b"")  # httpcore's form of an address
    assert dict(request.headers)[b"host"] == host


def test_a_login_in_an_address_is_sent_as_a_header_unless_there_is_one() -> None:
    url = "http://me:p%40ss@a.example/v1"
    assert dict(new_request("GET", url, {}, b"", {}).headers)[b"authorization"] == b"Basic bWU6cEBzcw=="
    assert dict(new_request("GET", url, {"authorization": "x"}, b"", {}).headers)[b"authorization"] == b"x"


def test_only_a_request_with_a_body_says_how_long_it_is() -> None:
    assert dict(new_request("POST", "http://a.example/", {}, b"abc", {}).headers)[b"content-length"] == b"3"
    assert b"content-length" not in dict(new_request("GET", "http://a.example/", {}, b"", {}).headers)
