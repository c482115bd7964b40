"""Labels of metrics whose values are not those of an event.

Every set of values is closed: the members of an enum, the handlers and topics of the topology, the models that the
configuration names for the tasks. Text of a record, page or server never becomes a value, so input can't add series.
"""

from __future__ import annotations

from typing import Literal, get_args

from schemas.pages import TrustFeatures
from streams.topology import HANDLERS

Via = Literal["kafka", "http", "command"]  # how a query arrives
VIAS: tuple[Via, ...] = ("kafka", "http")  # the counted ways; a command has no metrics
RefusalReason = Literal["invalid", "busy", "unavailable", "timeout", "failed"]
"""Why a query has no answer. A query over Kafka waits or becomes a dead letter instead."""
Lane = Literal["live", "replay"]
LANES: tuple[Lane, ...] = get_args(Lane)
Cause = Literal["settings", "journal", "breaker", "limit", "budget", "shut", "down"]  # why no model could be asked
_NO_FEATURES = ("source_tier", "base_score", "domain_tags", "word_count", "cts_score")
PAGE_FEATURES = tuple(name for name in TrustFeatures.model_fields if name not in _NO_FEATURES)
"""A change of their rates shows that a crawler, or the web, has changed."""
TASKS = tuple(handler.name for handler in HANDLERS if handler.asks_models)
"""The names of the handlers that ask language models."""
