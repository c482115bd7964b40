"""Reads one stored reply of a model, for people: events have only its id, ``llm.call_id``."""

from __future__ import annotations

from streams.llm.journal import JournalError, StoredAnswer, from_journal
from streams.llm.settings import LlmSettings
from streams.llm.sqlite_journal import make_journal
from streams.runtime.clock import SystemClock


async def stored_reply(llm: LlmSettings, call_id: str) -> StoredAnswer:
    """The stored answer; raises JournalError, if it is missing, with what to do."""
    path, where = llm.cache_path, "Redis" if llm.redis_url.get_secret_value() else str(llm.cache_path)
    if where != "Redis":
        if path is None:
            raise JournalError("workers keep the replies in memory only; set ASSAY_LLM__CACHE_PATH to keep them")
        if not path.exists():
            raise JournalError(f"there is no journal at {path}; see ASSAY_LLM__CACHE_PATH")
    journal = make_journal(llm, read_only=True)
    try:
        text = await journal.get(call_id, SystemClock().now().timestamp())
    finally:
        await journal.aclose()
    if text is None:
        raise JournalError(f"{where} has no reply {call_id}: it has expired, or another journal has it")
    if (answer := from_journal(text)) is None:
        raise JournalError(f"the reply {call_id} in {where} can't be read: another version wrote it")
    return answer
