"""``assay reply``: shows a model's reply from the journal. Events have only its id, ``llm.call_id``."""

from __future__ import annotations

import asyncio
import json
from typing import Annotated

import typer

from schemas.llm import CallOutcome
from streams.cli.options import AsJson, Config, load_settings
from streams.cli.output import printable, tell
from streams.clock import SystemClock
from streams.llm.journal import JournalError, StoredAnswer, from_journal
from streams.llm.settings import LlmSettings
from streams.llm.sqlite_journal import make_journal


def reply(
    call_id: Annotated[str, typer.Argument(metavar="CALL_ID", help="The `call_id` of the event's `llm`.")],
    as_json: AsJson = False,
    config: Config = None,
) -> int:
    """Show a model's reply, by the call id of an event."""
    llm = load_settings(config).llm
    try:
        answer = asyncio.run(stored_reply(llm, call_id))
    except JournalError as error:
        tell("reply", printable(str(error)))
        return 1
    if as_json:
        print(json.dumps({"call_id": call_id, **answer.to_wire()}, ensure_ascii=False))
        return 0
    if answer.outcome is not CallOutcome.OK:
        print(f"outcome: {answer.outcome}")
    if answer.text:
        print(printable(answer.text, keep="\n\t"))
    for call in answer.tool_calls:
        print(printable(f"{call.name} {call.arguments}"))
    return 0


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
