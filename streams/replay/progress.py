"""How far a replay or a promotion has come, as its process tells the screen twice a second."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Progress:
    """How far a plan has come; offsets are of the present stage, counts are of this process."""

    plan: str
    handler: str = ""
    stage: int = 0
    stages: int = 0
    total: int = 0
    remaining: int = 0
    replayed: int = 0
    passed_over: int = 0
    dead: int = 0
    deleted: int = 0
    spent_usd: float = 0.0
    members: int = 0
    note: str = ""
    """Why nothing goes on for now."""
