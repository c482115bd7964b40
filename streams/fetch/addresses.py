"""Which IP addresses are the open Internet: a string in, a verdict with its reason out.

The rule is a list of what is refused on top of a list of what is allowed, so that a range that nobody thought of is
refused. Addresses that carry an IPv4 address inside are judged by that one as well (RFC 4291, 6052, 3056, 5214).
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

_REFUSED_V4 = tuple(
    IPv4Network(network)
    for network in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # carrier-grade NAT, and one cloud's metadata
        "127.0.0.0/8",  # loopback
        "168.63.129.16/32",  # a cloud's own services on an address that looks public
        "169.254.0.0/16",  # link-local, and most clouds' metadata
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments, and one cloud's metadata
        "192.0.2.0/24",  # documentation
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",  # private
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, broadcast
    )
)
_GLOBAL_V6 = IPv6Network("2000::/3")
_REFUSED_V6 = tuple(
    IPv6Network(network)
    for network in (
        "2001::/23",  # protocol assignments, Teredo among them
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4
        "3ffe::/16",  # the former test network
        "3fff::/20",  # documentation
    )
)
_MAPPED = IPv6Network("::ffff:0:0/96")
_NAT64 = IPv6Network("64:ff9b::/96")
_ISATAP = (0x0000_5EFE, 0x0200_5EFE)


def why_not_global(address: str) -> str | None:
    """Why an address must not be reached; None for one of the open Internet.

    >>> why_not_global("93.184.216.34") is None
    True
    >>> why_not_global("::ffff:10.0.0.1")
    '10.0.0.1 is in 10.0.0.0/8'
    """
    try:
        parsed = ip_address(address)
    except ValueError:
        return f"{address!r} is no IP address"
    return _why_not_v4(parsed) if isinstance(parsed, IPv4Address) else _why_not_v6(parsed)


def _why_not_v4(address: IPv4Address) -> str | None:
    network = next((network for network in _REFUSED_V4 if address in network), None)
    return None if network is None else f"{address} is in {network}"


def _why_not_v6(address: IPv6Address) -> str | None:
    if address.scope_id is not None:
        return f"{address} has a zone"
    if address in _MAPPED or address in _NAT64:
        return _why_not_v4(IPv4Address(int(address) & 0xFFFF_FFFF))
    if address not in _GLOBAL_V6:
        return f"{address} is not global unicast"
    network = next((network for network in _REFUSED_V6 if address in network), None)
    if network is not None:
        return f"{address} is in {network}"
    if (int(address) >> 32) & 0xFFFF_FFFF in _ISATAP:
        return f"{address} is a tunnel into a site"
    return None
