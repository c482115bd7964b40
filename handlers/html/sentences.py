"""The form in which texts are searched for words that address a language model, and their sentences."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

_MAX_SENTENCE = 300
"""Characters."""
_SIGNS = bytes(code if code > 127 or chr(code).isalnum() else 32 for code in range(256))
_OTHER_SIGNS = "“”„‘’‚«»‹›–—…·•¡¿、。，！？：；（）「」『』【】《》"
NO_BLANKS = re.compile("[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
"""Letters of scripts without blanks between words, and of Korean, whose words have many endings."""
# One class of characters to begin with: the engine then looks for it in one go.
_ENDS = re.compile(r"[.!?…。•|](?:(?<=[.!?…])[\s\"'”’)»]+|(?<=[。•])|(?<=\|)(?=\s))")
_ROLES = "system|assistant|human|user|admin|developer"
MARK = re.compile(
    r"<\|?/?(?:im_start|im_end|system|assistant|user|context|end|endoftext|document|instructions|start_of_turn|end_of_turn"
    rf"|tool_call)\|?>|\[/?(?:inst|{_ROLES})\]|<</?sys>>|##\s*(?:instruction|response|system)|<function="
    rf"|\"(?:role|instruction|tool|function)\"\s*:|(?:^|[.\]>%-]\s?)(?:{_ROLES})(?: \w{{1,20}}){{0,2}}:"
    r"|function_call|begin trusted|end (?:of )?(?:untrusted|document|context)"
)
"""Marks of the roles of a conversation, of calls, and of the end of a quoted document."""
QUOTE = re.compile('["“”„«»‘「」『』]')
_SHAPES = bytes(97 if code > 127 or chr(code).isalnum() else 32 for code in range(256))
_APART = b" a a a a a"
_SPACED = re.compile(r"(?<![^\W_])[^\W\d_](?:(?:[ .·*]{1,3}|-)[^\W\d_](?![^\W_])){3,60}")


def without_signs(text: str) -> str:
    """A text with a blank for each sign."""
    for sign in _OTHER_SIGNS if not text.isascii() else "":
        text = text.replace(sign, " ")
    return text.encode("utf-8", "replace").translate(_SIGNS).decode()


def normal(text: str) -> str:
    """A text in one form: compatible characters and case folded, and letters together that signs keep apart.

    >>> normal("I g n o r e the ＲＵＬＥＳ")
    'ignore the rules'
    """
    if not text.isascii() and not unicodedata.is_normalized("NFKC", text):
        text = unicodedata.normalize("NFKC", text)
    text = text.casefold()
    is_apart = _APART in b" " + text.encode("utf-8", "replace").translate(_SHAPES)
    return _SPACED.sub(_put_together, text) if is_apart else text


def _put_together(match: re.Match[str]) -> str:
    words = re.split(r"[^\w]{3,}", match[0])
    return " ".join(re.sub(r"[\W_]+", "", word) for word in words)


def sentence_bounds(text: str, begin: int, end: int) -> Iterator[tuple[int, int]]:
    """The first character of each sentence of a part of a text, and that after its last; long ones in pieces."""
    for sign in (*_ENDS.finditer(text, begin, end), None):
        last = sign.start() + 1 if sign else end
        while last - begin > _MAX_SENTENCE:
            cut = text.rfind(" ", begin + 1, begin + _MAX_SENTENCE)
            cut = cut if cut > 0 else begin + _MAX_SENTENCE
            yield begin, cut
            begin = cut + (text[cut] == " ")
        if last > begin:
            yield begin, last
        begin = sign.end() if sign else end
