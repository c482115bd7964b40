"""``assay reply``: shows a model's reply from the journal. Events have only its id, ``llm.call_id``."""

from __future__ import annotations

import asyncio
from typing import Annotated

from typer import Argument

from schemas.llm import CallOutcome
from streams.cli.options import AsJson, Config, load_settings
from streams.cli.output import say, say_json, tell
from streams.llm.journal import JournalError
from streams.llm.reports import stored_reply


def reply(
    call_id: Annotated[str, Argument(metavar="CALL_ID", help="The `call_id` of the event's `llm`.")],
    as_json: AsJson = False,
    config: Config = None,
) -> int:
    """Show a model's reply, by the call id of an event."""
    llm = load_settings(config).llm
    try:
        answer = asyncio.run(stored_reply(llm, call_id))
    except JournalError as error:
        return tell("reply", str(error), 1)
    if as_json:
        say_json({"call_id": call_id, **answer.to_wire()})
        return 0
    if answer.outcome is not CallOutcome.OK:
        say(f"outcome: {answer.outcome}")
    if answer.text:
        say(*answer.text.split("\n"))
    for call in answer.tool_calls:
        say(f"{call.name} {call.arguments}")
    return 0
