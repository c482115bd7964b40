r"""What script and what language a text is in: by its characters, its declaration and its most frequent words.

The names in capitals are insides of a character class for expressions of the ``regex`` library, which knows ``\p``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence, Set

import regex

HAN = r"\p{Han}"
KANA = r"\p{InHiragana}\p{InKatakana}"
HANGUL = r"\p{Hangul}"
CJK = HAN + KANA + HANGUL

HAN_RUN = regex.compile(f"[{HAN}]+")
_KANA_OR_HANGUL = regex.compile(f"[{KANA}{HANGUL}]")
CJK_SIGN = regex.compile(f"[{CJK}]")
_PAIRS = (
    "萬万傷伤億亿優优兩两冊册則则創创動动協协參参員员問问嗎吗國国園园圓圆團团報报場场塊块學学實实專专尋寻導导層层島岛"
    "師师幣币幾几庫库廳厅從从應应懶懒損损擊击據据時时晝昼曆历會会條条業业極极樂乐樓楼標标樣样歐欧歡欢沒没漲涨災灾"
    "為为無无熱热營营獲获現现產产畫画當当發发眾众確确碼码禍祸稱称筆笔節节篩筛籤签約约紹绍結结絡络統统網网線线編编"
    "縣县總总聞闻聯联職职臺台與与薦荐藥药號号虧亏術术裡里見见規规覽览觀观訂订計计訊讯記记設设許许註注評评該该詳详"
    "認认誰谁課课調调請请論论講讲譜谱議议讀读讓让貨货販贩責责買买貸贷費费賃赁資资購购車车較较載载輯辑辭辞辦办農农"
    "這这連连週周進进過过選选醫医錄录錢钱鎊镑鐘钟長长門门開开間间關关閱阅陰阴隊队隨随雙双韓韩頁页項项順顺預预頻频"
    "題题類类飯饭館馆麼么點点個个們们來来價价後后於于賣卖額额檢检廣广將将對对難难電电話话書书聽听語语鄉乡鎮镇灣湾"
    "際际藝艺體体處处種种經经給给說说贊赞讚赞還还邊边運运達达適适遊游鐵铁銀银銷销雲云風风飛飞驗验龍龙並并訪访證证機机測测瀏浏繼继"
    "續续屬属滿满歲岁齡龄異异輸输絕绝環环務务錯错誤误維维護护暫暂啟启刪删轉转內内隱隐夥伙狀状視视係系僅仅戶户決决鏈链鎖锁繫系聲声傳传盤盘壇坛"
)
"""Traditional characters, each with its simplified one: those of our word lists and some more."""
_SIMPLIFIED = str.maketrans(_PAIRS[::2], _PAIRS[1::2])

_SAMPLE = 1500
_SHORT_SAMPLE = 200
"""Characters from which on the language is that of the text."""
_MANY_ONE_IN = 10
_FEW, _CLEAR = 3, 1.2
_WORDS = re.compile(r"[^\W\d_]+")
_SHARED = frozenset(("ru", "ar"))
"""Scripts that several of our languages are written in."""
_OTHER_SCRIPTS = frozenset(("bg", "sr", "uk", "ru", "fa", "ur", "ar"))
_LATIN_BYTES = bytes(range(0xC6)) + b"\xe2"
_SCRIPTS = {
    language: regex.compile(rf"[{properties}]")
    for language, properties in {
        "ja": r"\p{InHiragana}\p{InKatakana}",
        "ko": r"\p{Hangul}",
        "zh": r"\p{Han}",
        "ru": r"\p{Cyrillic}",
        "ar": r"\p{Arabic}",
        "he": r"\p{Hebrew}",
        "el": r"\p{Greek}",
        "th": r"\p{Thai}",
        "hi": r"\p{Devanagari}",
    }.items()
}
_LEAST_SHARE, _LEAST_KANA = 0.3, 0.1
_TAG = re.compile(r"[a-zA-Z]{2,3}(?=$|[-_])")


def has_han(text: str) -> bool:
    """Whether a text has a Chinese character.

    >>> has_han("Tokyo 東京"), has_han("ひらがな")
    (True, False)
    """
    return not text.isascii() and HAN_RUN.search(text) is not None


def is_chinese(text: str) -> bool:
    """Whether a text has Chinese characters and none of Japanese or Korean only.

    >>> is_chinese("東京 2024"), is_chinese("東京の雨")
    (True, False)
    """
    return has_han(text) and _KANA_OR_HANGUL.search(text) is None


def has_cjk(text: str) -> bool:
    """Whether a text has a character of Chinese, Japanese or Korean."""
    return not text.isascii() and CJK_SIGN.search(text) is not None


def is_ideographic(character: str) -> bool:
    """Whether a character is of such a script.

    >>> is_ideographic("京"), is_ideographic("ん"), is_ideographic("글"), is_ideographic("é")
    (True, True, True, False)
    """
    return character > "\u10ff" and CJK_SIGN.match(character) is not None


def simplified(text: str) -> str:
    """Chinese words in simplified characters.

    >>> simplified("價格 price")
    '价格 price'
    """
    return text if text.isascii() else text.translate(_SIMPLIFIED)


def find_language(declared: str, text: str, small_words: Mapping[str, Set[str]]) -> str | None:
    """The BCP 47 primary subtag, lower-case; None if nothing shows it.

    The text's small words decide, since templates often say ``en``; in a text below 200 characters, or if no language
    is clearly ahead, the declaration, unless hardly any word of another language is there.

    >>> find_language("zh-Hant-TW", "", {})
    'zh'
    >>> find_language("en", "中央氣象署今天發布豪雨特報，提醒民眾注意", {"en": {"the"}})
    'zh'
    """
    sample = text[:_SAMPLE]
    # Latin letters with their marks, and the signs that go with them, begin with C2 to C5 or E2 in UTF-8.
    written = _by_script(sample) if sample.encode("utf-8", "replace").translate(None, _LATIN_BYTES) else None
    match = _TAG.match(declared)
    stated = match.group().lower() if match else None
    counts = counts_by_language(_WORDS.findall(sample.lower()), small_words)
    ordered = sorted(counts, key=lambda language: (counts[language], language == stated), reverse=True)
    best = ordered[0] if ordered else ""
    # A text of a language near the declared one, such as Danish and Norwegian, has words of both.
    second = counts[ordered[1]] if len(ordered) > 1 else 0
    rival = max(_CLEAR * counts.get(stated or "", 0), second)
    is_clear = bool(best) and counts[best] >= _FEW and counts[best] > rival
    if written is not None and written not in _SHARED:
        return stated if stated is not None and stated not in small_words else written
    # Few words are enough where no other language knows half as many.
    is_sure = len(sample) >= _SHORT_SAMPLE or (is_clear and counts[best] > 2 * max(_FEW - 1, second))
    if is_clear and is_sure and counts[best] * _MANY_ONE_IN >= len(sample.split()):
        return best
    if stated is None or (written is not None and stated in small_words and stated not in _OTHER_SCRIPTS):
        return best if is_clear and (written is None or best in _OTHER_SCRIPTS) else written
    return stated


def counts_by_language(words: Sequence[str], known: Mapping[str, Set[str]]) -> dict[str, int]:
    """How many of the words each language knows."""
    counted = Counter(words)
    return {
        language: sum([counted[word] for word in counted.keys() & of_language])
        for language, of_language in known.items()
    }


def _by_script(sample: str) -> str | None:
    letters = sum(sign.isalpha() for sign in sample)
    for language, script in _SCRIPTS.items():
        if letters and len(script.findall(sample)) / letters > (_LEAST_KANA if language == "ja" else _LEAST_SHARE):
            return language
    return None
