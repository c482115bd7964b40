"""Reporters' names in the forms of Chinese newspapers: 記者王小明／台北報導, （中央社記者王小明台北電）, 文／王小明.

A line goes in, names come out. Where nothing separates a name from what is around it, it is known by its surname.
"""

from __future__ import annotations

import re

from handlers.html.reading import PageReadingSection

HAN = "\u4e00-\u9fff"
_MAX_CHARACTERS = 200
_MAX_BEFORE = 24
_LETTERS = re.compile(r"[^\W\d_]")
_END = r"(?=[\s／/｜|，,。；;）)】〕\]]|$)"
# Whoever took the picture is no author; "攝影／" only begins the next credit.
_PICTURE = r"(?!\s{0,2}(?:[攝摄](?!影\s?[／/:：])|翻[攝摄]|提供))"


class HanNames:
    """The configured words and surnames, compiled once."""

    def __init__(self, reading: PageReadingSection) -> None:
        reporters = "|".join(sorted(map(re.escape, reading.reporter_words_zh), key=len, reverse=True))
        words = "|".join(sorted(map(re.escape, reading.byline_words_zh), key=len, reverse=True))
        reports = "|".join(sorted(map(re.escape, reading.report_words_zh), key=len, reverse=True))
        doubles = "|".join(map(re.escape, reading.han_double_surnames))
        given = f"[{HAN}]"
        name = rf"(?:(?:{doubles}){given}{{1,2}}|[{re.escape(reading.han_surnames)}]{given}{{1,2}})"
        report = rf"(?:{given}{{2,5}})?\d{{0,2}}日?(?:{reports})"
        more = rf"(?:\s?[、，,&]\s?{name}(?:{_END}|(?=、))|\s{name}{_END}){{0,5}}"
        # 記者王小明台北報導, 記者王小明／台北報導: a surname tells where the name begins, what follows where it ends.
        self._joined = re.compile(
            rf"(?:{reporters})\s?({name}(?:、{name}){{0,5}})(?:{_END}|(?={report})){_PICTURE}({more})"
        )
        # 作者：小明, 文／小明, 記者 王小明 李大文: whatever follows the sign is the name.
        self._parted = re.compile(
            rf"(?:^|[\s・、（(〔\[【　／/]|{given}{{1,6}})(?:{words})"
            rf"(?:(?:\s{{0,3}}[:：／/｜|●]\s{{0,3}}|・(?!{words}))([{HAN}·‧\u3040-\u30ff]{{2,8}})(?:{_END}|(?=、)){_PICTURE}|\s{{1,3}}({name}){_END}{_PICTURE})({more})"
        )
        # 王小明／台北報導
        self._first = re.compile(rf"(?:^|[\s（(〔\[【　])({name}(?:、{name}){{0,5}})\s?[／/]\s?{report}")
        # 王小明 記者
        self._before_role = re.compile(rf"^\s?({name})\s?(?:{reporters}|編輯|编辑|主編|主编)\s?$")
        self._names = re.compile(rf"{name}(?:{_END}|(?=、))")
        self._no_names = frozenset(reading.no_names)
        self._endings = tuple(ending for ending in reading.organization_endings if ending >= "\u4e00")

    def reporters(self, text: str) -> tuple[str, ...]:
        """Names of those who wrote what the line begins; () where it names nobody."""
        text = text[:_MAX_CHARACTERS]
        if match := self._before_role.match(text):
            return (match[1],)
        if (match := self._joined.search(text)) and match.start() <= _MAX_BEFORE:
            return (*match[1].split("、"), *self._names.findall(match[2]))
        if (match := self._first.search(text)) and match.start() <= _MAX_BEFORE:
            return tuple(match[1].split("、"))
        match = self._parted.search(text)
        if match is None or len(_LETTERS.findall(text, 0, match.start())) > _MAX_BEFORE:
            return ()
        first = match[1] or match[2]
        if first in self._no_names or first.endswith(self._endings):
            return ()
        return (first, *self._names.findall(match[3]))
