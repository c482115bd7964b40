"""The section ``workers`` of the configuration."""

from __future__ import annotations

import os

from pydantic import Field

from schemas.rules import Section
from streams.workers.child import JobLimits

_MIB = 1 << 20


class WorkersSettings(Section):
    """Child processes that read untrusted pages, and the limits of one record in them."""

    processes: int = Field(
        default_factory=lambda: max(1, cores() - 1),
        ge=0,
        le=256,
        description="Child processes of a worker: one for each core but one by default. 0 runs every handler in the"
        " worker itself, without the limits below: a hostile page can stop it.",
    )
    cpu_seconds: float = Field(
        default=5.0, gt=0, description="CPU time of one record; beyond it, the record is a dead letter (took_too_long)."
    )
    wall_seconds: float = Field(
        default=60.0, gt=0, description="Wall-clock time of one record; one that exceeds it twice is a dead letter."
    )
    memory_mib: int = Field(
        default=512, ge=64, description="Memory of one record; beyond it, the record is a dead letter (out_of_memory)."
    )

    @property
    def limits(self) -> JobLimits:
        return JobLimits(self.cpu_seconds, self.wall_seconds, self.memory_mib * _MIB)


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
