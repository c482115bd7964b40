import pytest

from schemas.addresses import is_loopback
from streams.http.gate import Gate, refuse_host
from tests.tables import tables

TABLES = tables(__file__)

HERE, HOST = "127.0.0.1", (b"host", b"127.0.0.1:8080")
TOKEN = "s3cret-token"
SHOWN = f"Bearer {TOKEN}".encode()
PASSED_ON = (
    b"forwarded via x-forwarded-for x-forwarded-host x-forwarded-proto x-real-ip x-original-forwarded-for x-client-ip "
    b"x-cluster-client-ip fly-client-ip true-client-ip cf-connecting-ip x-envoy-external-address"
)
FOREIGN = [*(host.encode() for host in TABLES["foreign_name_for_this_machine_is_refused"]), b"\xff"]
OTHERS = (None, "10.0.0.1", "192.168.1.2", "2001:db8::1", "testclient", "::ffff:10.0.0.1", "")
WRONG = [b"", b"Bearer", b"Bearer ", b"Bearer s3cret", b"Basic " + SHOWN[7:], SHOWN + b"x", SHOWN[7:], SHOWN[:-1]]


def status(peer: str | None, *headers: tuple[bytes, bytes], token: str = "") -> int:
    refused = Gate(token).refuse(peer, headers)
    return refused.status if refused else 200


@pytest.mark.parametrize("peer", [HERE, "127.8.9.10", "::1", "::ffff:127.0.0.1"])
@pytest.mark.parametrize("host", [b"127.0.0.1:8080", b"localhost", b"LOCALHOST:8080", b"[::1]:8080"])
def test_this_machine_may_ask_itself(peer: str, host: bytes) -> None:
    assert status(peer, (b"host", host)) == 200


@pytest.mark.parametrize(
    ("peer", "headers"),
    [
        *((peer, [HOST]) for peer in OTHERS),
        *((HERE, [(b"host", host)]) for host in FOREIGN),
        (HERE, []),
        (HERE, [HOST, (b"host", b"evil.example")]),
        *((HERE, [HOST, (name, b"127.0.0.1")]) for name in PASSED_ON.split()),
        *((HERE, [HOST, (b"origin", page)]) for page in (b"https://evil.example", b"null", b"http://[::1")),
        *((HERE, [HOST, (b"sec-fetch-site", site)]) for site in (b"cross-site", b"same-site")),
    ],
)
def test_others_may_not_without_a_token(peer: str | None, headers: list[tuple[bytes, bytes]]) -> None:
    """Other machines, other names of this one, proxies, and web pages of other sites."""
    assert status(peer, *headers) == 403


@pytest.mark.parametrize("header", [(b"origin", b"http://localhost:3000"), (b"sec-fetch-site", b"same-origin")])
def test_web_pages_of_this_machine_may_ask(header: tuple[bytes, bytes]) -> None:
    assert status(HERE, HOST, header) == 200


@pytest.mark.parametrize("peer", [None, "10.0.0.1", HERE])
def test_with_a_token_everybody_shows_it(peer: str | None) -> None:
    assert status(peer, (b"host", b"api.example"), (b"authorization", SHOWN), token=TOKEN) == 200
    assert status(peer, HOST, token=TOKEN) == 401


@pytest.mark.parametrize("shown", [*([wrong] for wrong in WRONG), [SHOWN + b"\xc3\xbc"], [SHOWN, b"Bearer other"]])
def test_wrong_token_is_refused(shown: list[bytes]) -> None:
    assert status(HERE, HOST, *((b"authorization", text) for text in shown), token=TOKEN) == 401


def test_a_peer_that_guesses_has_to_pause_and_others_need_not() -> None:
    now = 0.0
    gate = Gate(TOKEN, lambda: now)

    def shown(peer: str, token: str) -> int:
        refused = gate.refuse(peer, [(b"authorization", f"Bearer {token}".encode())])
        assert refused is None or (refused.status == 429) == bool(refused.after_seconds)
        return refused.status if refused else 200

    assert [shown("192.0.2.1", "old") for _ in range(20)] == [401] * 20
    assert shown("192.0.2.1", TOKEN) == 200
    assert [shown(f"2001:db8::{guess}", f"{guess}") for guess in range(6)] == [401] * 5 + [429]
    assert [shown("2001:db8::9", TOKEN), shown("2001:db8:0:1::9", TOKEN)] == [429, 200]
    for peer in range(990):
        shown(f"10.0.{peer // 256}.{peer % 256}", "guess")
    assert shown("2001:db8::9", TOKEN) == 429
    now = 61.0
    assert shown("2001:db8::9", TOKEN) == 200
    for peer in range(1200):
        shown(f"10.1.{peer // 256}.{peer % 256}", "guess")
    assert len(gate._wrong) == 1000


@pytest.mark.parametrize("host", ["localhost.", "local host", "127.0.0.1 ", "1", "127.1", "٠.0.0.1"])
def test_odd_spellings_are_not_believed(host: str) -> None:
    assert not is_loopback(host)


@pytest.mark.parametrize("host", [host.encode() for host in TABLES["addresses_and_configured_hosts_are_accepted"]])
def test_addresses_and_configured_hosts_are_accepted(host: bytes) -> None:
    assert refuse_host([(b"host", host)], ("assay.example.org", "*.Workers.example.org")) is None


@pytest.mark.parametrize(
    "host", [*(host.encode() for host in TABLES["any_other_host_is_refused_with_what_to_do"]), b"\xff"]
)
def test_any_other_host_is_refused_with_what_to_do(host: bytes) -> None:
    refused = refuse_host([(b"host", host)], ("*.workers.example.org",))
    assert refused is not None
    assert refused.status == 421
    assert "ASSAY_HTTP__ALLOWED_HOSTS" in refused.detail
    assert len(refused.detail) < 300
    assert refuse_host([(b"host", b"localhost"), (b"host", host)], ()) is not None
