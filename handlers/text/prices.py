"""Prices in a text (R-035, C-06). An amount alone is no price, and neither is an amount with an ambiguous word."""

from __future__ import annotations

import re
from decimal import Context, Decimal

from handlers.text.reading import Detail, Price, Reading, is_currency_code
from handlers.text.scripts import has_cjk

# Grouped by thousands, the Indian way, or plain. Groups have a fixed length: one never runs into the number after it.
AMOUNT = re.compile(
    r"\d{1,3}(?:(?:[.,’' ]\d{3}){1,5}(?!\d)(?:[.,]\d{1,2}(?!\d)|\.\d{3}(?!\d))?|(?:,\d\d){1,3},\d{3}(?:\.\d\d?)?(?!\d))"
    r"|\d{1,24}(?:[.,]\d{1,20})?"
)
_ROUND = re.compile(r"[,.:][-–—]{1,2}|\.?/-")
_MARK = re.compile(r"[,.:][-–—]{1,2}(?![\w)])")
"""What is written behind whole amounts of money only, also without a currency: 989:-, 11 490,-."""
_LEAST_MARKED = 3
_CENTS = re.compile(r"\d\d(?![\d.,])")
_EXACT = re.compile(r"[.,]\d\d")
_SCALE_LETTERS = {"k": Decimal("1e3"), "m": Decimal("1e6"), "b": Decimal("1e9")}
_ALL_DIGITS = Context(prec=100)
"""More digits than an amount can have behind two scales."""
_LABEL_REACH = 3
_PER = re.compile(r"\s?(?:/\s?|(?:per|pro|je|par|por|al|il|le)\s)(?:l|lit[a-z]{2,4}|gal(?:lon)?|k[wg]h?|m3|m³)(?!\w)")
"""The measure that a price is for: $3.459 per gallon, 1,599 €/l."""
_POINT_IS_DECIMAL = ("GBP",)


def read_price(reading: Reading, start: int, floor: int, *, has_lead: bool) -> Detail[Price] | None:
    """The price whose amount begins at ``start``, with the currency beside it or behind a word for prices.

    Nothing before ``floor`` belongs to it.
    """
    folded, patterns = reading.folded, reading.patterns
    if not (match := AMOUNT.match(folded, start)):
        return None
    written, end = match.group(), match.end()
    if folded[start - 1 : start] == "." and not folded[start - 2 : start - 1].isdecimal():
        # A decimal mark with nothing before it: $.75.
        written, start = f"0.{written}", start - 1
    first, sign = _before(reading, start, floor) if has_lead else (start, "")
    after, scale, further, name = _after(reading, end)
    name = name if _says_more(reading, sign, name) else ""
    word = name or sign
    if word in patterns.doubtful_currencies and scale == 1 and not _EXACT.search(written):
        return None
    is_marked = end - start >= _LEAST_MARKED and _MARK.match(folded, end) is not None
    if not word and not is_marked and not (has_lead and _has_label(reading, start, floor)):
        return None
    if not _is_whole(reading, first, start, end, floor, sign):
        return None
    unit = patterns.all_currencies[word] if word else ""
    is_point = unit in _POINT_IS_DECIMAL and "," not in written
    amount = decimal_amount(written, of_unit=is_point or bool(_PER.match(folded, after)))
    if not name and scale == 1:
        after = end
    if "." not in amount and folded[end : end + 1] == "€" and (cents := _CENTS.match(folded, end + 1)):
        amount, after = decimal_amount(f"{amount}.{cents.group()}"), cents.end()
    if scale != 1:
        amount = _multiplied(amount, scale, further)
    return Detail(first, after, Price(amount, unit))


def decimal_amount(text: str, *, of_unit: bool = False) -> str:
    """A plain decimal number, with the decimals as written: 25.00 is not 25.

    The last mark is the decimal one if it differs from the marks before it, if other than three digits follow, or if
    nothing but a zero is before it, or if it is the price of a unit, such as a litre.

    >>> decimal_amount("3.459"), decimal_amount("3.459", of_unit=True)
    ('3459', '3.459')
    >>> [decimal_amount(text) for text in ("1.299,00", "1,299", "2'299.5", "123,456.789", "0.750", "1 200")]
    ['1299.00', '1299', '2299.5', '123456.789', '0.750', '1200']
    """
    digits = re.sub(r"[’' ]", "", text)
    mark = max(",.", key=digits.rfind)
    head, _, tail = digits.rpartition(mark) if mark in digits else (digits, "", "")
    other = "," if mark == "." else "."
    is_short = of_unit and len(head) == 1
    if mark in head or (len(tail) == 3 and other not in head and head != "0" and not is_short):
        head, tail = head + tail, ""
    whole = int(re.sub(r"[.,]", "", head))
    return f"{whole}.{''.join(str(int(digit)) for digit in tail)}" if tail else str(whole)


def _multiplied(amount: str, scale: Decimal, further: Decimal) -> str:
    """The plain decimal number without zeros that the multiplication left at its end: 1.2 million is 1200000."""
    product = f"{_ALL_DIGITS.add(_ALL_DIGITS.multiply(Decimal(amount), scale), further):f}"
    return product.rstrip("0").removesuffix(".") if "." in product else product


def _before(reading: Reading, start: int, floor: int) -> tuple[int, str]:
    """The currency before an amount and its beginning, with a code before the sign as in ``NZD $5``."""
    currencies = reading.patterns.currencies
    end = reading.skip_blanks_back(start)
    sign = reading.before(currencies, end)
    first = end - len(sign)
    if not sign or first < floor:
        return start, ""
    code_end = reading.skip_blanks_back(first, 1)
    code = reading.before(currencies, code_end)
    if code and code_end - len(code) >= floor and _says_more(reading, sign, code):
        return code_end - len(code), code
    return first, sign


def _after(reading: Reading, end: int) -> tuple[int, Decimal, Decimal, str]:
    """The end of an amount with its scale and currency, the scale, what is added, and the currency.

    The scale may come last. In scripts without spaces, smaller scales follow larger ones: 1万2800円.
    """
    currencies = reading.patterns.all_currencies
    if rounded := _ROUND.match(reading.folded, end):
        end = rounded.end()
    end, scale = _scales(reading, end)
    end, further = _further(reading, end, scale)
    place = reading.skip_blanks(end)
    if not (name := reading.after(currencies, place)):
        return end, scale, further, ""
    end = place + len(name)
    more = reading.after(currencies, end)
    if more and _says_more(reading, name, more):
        name, end = more, end + len(more)
    if scale == 1:
        end, scale = _scales(reading, end)
    return end, scale, further, name


def _further(reading: Reading, end: int, scale: Decimal) -> tuple[int, Decimal]:
    """The numbers with smaller scales that follow a scale, and their sum."""
    total, least = Decimal(0), scale
    while least > 1 and has_cjk(reading.folded[end - 1]):
        match = AMOUNT.match(reading.folded, reading.skip_blanks(end, 1))
        if match is None:
            break
        behind, smaller = _scales(reading, match.end())
        if smaller >= least or Decimal(decimal_amount(match.group())) >= least:
            break
        end, least = behind, smaller
        total += Decimal(decimal_amount(match.group())) * smaller
    return end, total


def _scales(reading: Reading, end: int) -> tuple[int, Decimal]:
    folded, patterns = reading.folded, reading.patterns
    scale = Decimal(1)
    for _ in range(2):
        place = reading.skip_blanks(end)
        if word := reading.after(patterns.scales, place):
            scale, end = scale * Decimal(patterns.scales[word]), place + len(word)
            continue
        letter = _SCALE_LETTERS.get(folded[place : place + 1])
        if letter and not reading.after(patterns.all_currencies, place):
            # A letter without a blank, as in $5m, or with the currency behind it, as in 30 MUSD.
            is_end = place == end and not folded[place + 1 : place + 2].isalnum()
            if is_end or reading.after(patterns.all_currencies, place + 1):
                return place + 1, scale * letter
        break
    return end, scale


def _says_more(reading: Reading, sign: str, name: str) -> bool:
    """Whether a currency beside a sign that several share names one of them."""
    codes = reading.patterns.all_currencies
    return bool(name) and (not sign or (is_currency_code(codes[name]) and not is_currency_code(codes[sign])))


def _has_label(reading: Reading, start: int, floor: int) -> bool:
    end = reading.skip_back(start, _LABEL_REACH, " :", floor)
    return ":" in reading.folded[end:start] and bool(reading.before(reading.patterns.price_labels, end))


def _is_whole(reading: Reading, first: int, start: int, end: int, floor: int, sign: str) -> bool:
    """Whether an amount is no part of a longer number or word."""
    folded = reading.folded
    if start and not sign and (start > floor + 1 or not floor) and folded[start].isdecimal():
        before = folded[start - 1]
        if (before.isalnum() and before.isascii()) or (before in ".,:/" and folded[start - 2 : start - 1].isdecimal()):
            return False
    if first and folded[first].isalpha() and folded[first - 1].isdecimal() and first > floor:
        return False
    after = folded[end : end + 1]
    return not (after.isdecimal() or (after and after in ".,:/" and folded[end + 1 : end + 2].isdecimal()))
