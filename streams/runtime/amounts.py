"""Amounts in words, the same on the command line and in the console; "-" where an amount is not known."""

from __future__ import annotations

from collections.abc import Mapping

_UNITS = ((86400, "d"), (3600, "h"), (60, "min"))


def in_time(seconds: float | None) -> str:
    """A duration with about two digits.

    >>> in_time(0.004), in_time(2.34), in_time(75), in_time(5400), in_time(604800), in_time(None)
    ('4 ms', '2.3 s', '75 s', '90 min', '7.0 d', '-')
    """
    if seconds is None:
        return "-"
    if seconds < 1:
        return f"{1000 * seconds:.0f} ms" if seconds > 0 else "0 s"
    for size, unit in _UNITS:
        if seconds >= 2 * size:
            return f"{seconds / size:.{0 if seconds >= 10 * size else 1}f} {unit}"
    return f"{seconds:.{0 if seconds >= 10 else 1}f} s"


def in_kinds(counts: Mapping[str, int]) -> str:
    """What was passed over, by kind; "" for nothing.

    >>> in_kinds({"request": 2, "resource": 1})
    'passed over 3 (2 request, 1 resource)'
    """
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in sorted(counts.items()))
    return f"passed over {sum(counts.values()):,} ({kinds})" if kinds else ""


def in_rate(per_second: float | None) -> str:
    """Records a second.

    >>> in_rate(0), in_rate(0.25), in_rate(12.34), in_rate(1234.5), in_rate(None)
    ('0', '0.25', '12.3', '1,234', '-')
    """
    if per_second is None:
        return "-"
    return f"{per_second:,.0f}" if per_second >= 100 else f"{per_second:.3g}"


def in_money(usd: float | None) -> str:
    """US dollars, with as many places as a small sum needs.

    >>> in_money(0), in_money(0.00042), in_money(3.5), in_money(None)
    ('$0', '$0.00042', '$3.50', '-')
    """
    if usd is None:
        return "-"
    return f"${usd:,.2f}" if usd >= 0.1 else f"${usd:.2g}"


def in_bytes(count: float) -> str:
    """Bytes in the unit in which they are shortest.

    >>> in_bytes(512), in_bytes(24_000_000 * 512 * 4)
    ('512 bytes', '45.8 GiB')
    """
    unit = "bytes"
    for larger in ("KiB", "MiB", "GiB", "TiB", "PiB"):
        if count < 1024:
            break
        count, unit = count / 1024, larger
    return f"{count:,.0f} {unit}" if unit == "bytes" else f"{count:,.1f} {unit}"


def in_short(number: float | None) -> str:
    """A count in at most six characters.

    >>> in_short(None), in_short(12.0), in_short(123456), in_short(4_560_000)
    ('-', '12', '123 k', '4.6 M')
    """
    if number is None:
        return "-"
    for size, unit in ((1e6, "M"), (1e3, "k")):
        if number >= 10 * size or (unit == "M" and number >= size):
            return f"{number / size:.{0 if number >= 10 * size else 1}f} {unit}"
    return f"{number:.0f}"


def figure(value: float | None, digits: int = 0) -> str:
    """A number with thousands.

    >>> figure(12345), figure(0.256, 2), figure(None)
    ('12,345', '0.26', '-')
    """
    return "-" if value is None else f"{value:,.{digits}f}"
