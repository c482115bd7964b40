"""A handler for tests of child processes: each page states what its handler does."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import replace

from schemas.needs import Ask, FetchPages
from schemas.outcome import Emit, Outcome, Retry, RetryReason
from schemas.pages import CrawledPage
from schemas.replies import Reply
from schemas.rules import Rules
from tests.samples import scored, the_handler


class NoRules(Rules):
    """Decides by nothing."""


class SomeRules(Rules):
    """Has a value that the version of the configuration depends on."""

    minimum: int = 3


def do_as_the_page_says(page: CrawledPage, rules: Rules) -> Outcome | Ask:
    """Hangs, ends its process, raises and so on if the text of the page says so; otherwise scores the page."""
    deed, _, value = page.html.partition(" ") if page.html else ("", "", "")
    match deed:
        case "hang":
            while True:
                pass
        case "sleep":
            time.sleep(float(value))
        case "crash":
            os.kill(os.getpid(), signal.SIGKILL)
        case "memory":
            bytearray(int(value))
        case "raise":
            raise ValueError(value)
        case "retry":
            if not os.path.exists(value):
                open(value, "x").close()
                return Retry(RetryReason.UNAVAILABLE, "the first time")
        case "ask":
            return Ask(FetchPages((page.url,), value), state={"process": os.getpid(), "value": value})
        case "process":
            return Emit((scored(page.url, content=str(os.getpid())),))
    return Emit((scored(page.url, config_version=rules.config_version, context=page.context),))


def read_reply(page: CrawledPage, replies: tuple[Reply, ...], rules: Rules, state: dict[str, object]) -> Outcome:
    """Scores the page, with the state of the ask and the process that reads the reply as its content."""
    return Emit((scored(page.url, content=f"{state['value']} {state['process']} {os.getpid()} {len(replies)}"),))


PAGES = replace(the_handler("score_page"), name="obeying", fn=do_as_the_page_says, rules=NoRules, preload=(__name__,))
ASKING = replace(PAGES, name="asking", read=read_reply, rules=SomeRules, asks=frozenset({FetchPages}), rounds=1)
SCORER = replace(PAGES, name="score_page")  # In the place of ``score_page``, for tests that know its topics and group
