"""The shipped rules of ``config/``, for tests of pure handlers."""

from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from handlers.ranking.config import RankingSection
from schemas.rules import Rules
from streams.runtime import settings_files
from streams.settings import lazy, model

CONFIG = Path(__file__).parent.parent / "config"
PROMPTS = CONFIG.parent / "handlers" / "prompts"
TREES = CONFIG.parent / "handlers" / "results" / "trained.json"
CONTENT_TREES = CONFIG.parent / "handlers" / "html" / "trained.json"
AUTHOR_TREES = CONFIG.parent / "handlers" / "html" / "authors" / "trained.json"
DATE_TREES = CONFIG.parent / "handlers" / "html" / "dates" / "trained.json"
ADDRESSED = CONFIG.parent / "handlers" / "html" / "addressed.json"
NOTICES = CONFIG.parent / "handlers" / "html" / "notices.json"
WORD_FREQUENCIES = CONFIG.parent / "handlers" / "text" / "background.json"
R = TypeVar("R", bound=Rules)
_KNOWN: defaultdict[type[Rules], list[Rules]] = defaultdict(list)


class RankingRules(Rules):
    """The rules of ranking alone."""

    ranking: RankingSection


def read_shipped_once() -> None:
    """This process reads the files of the shipped configuration once.

    No function changes a document: sections are merged into a new one, and models are new objects.
    """
    every, once = settings_files.read_document, cache(settings_files.read_document)
    for reader in (settings_files, model, lazy):
        vars(reader)["read_document"] = lambda folder: (once if folder == CONFIG else every)(folder)


@cache
def _document() -> dict[str, Any]:
    return settings_files.read_document(CONFIG)


def shipped_rules(kind: type[R], **sections: Any) -> R:
    """The shipped rules of a handler, with whole sections replaced by ``sections``.

    Rules are frozen, so tests share them.
    """
    rules: Any = _made(kind, _document() | sections) if sections else _shipped(kind)
    return rules  # type: ignore[no-any-return]


def one_of_equals(rules: Rules) -> Rules:
    """Equal rules are one object, because to compile their words takes a tenth of a second for each."""
    known = _KNOWN[type(rules)]
    found = next((its for its in known if its == rules), None)
    if found is None:
        known.append(rules)
    return found or rules


@cache
def _shipped(kind: type[Rules]) -> Rules:
    return one_of_equals(_made(kind, _document()))


def _made(kind: type[Rules], document: dict[str, Any]) -> Rules:
    return kind.model_validate({name: document[name] for name in kind.model_fields if name in document})
