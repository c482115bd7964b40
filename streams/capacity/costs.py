"""The measured costs, ``costs.yaml`` of the configuration directory."""

from __future__ import annotations

from math import sqrt
from pathlib import Path

from pydantic import Field, ValidationError

from schemas.rules import Section
from streams.runtime.settings_files import SettingsError, read_yaml
from streams.settings.model import explain

FILE = "costs.yaml"


class CpuCost(Section):
    """CPU time for one input."""

    milliseconds: float = Field(gt=0, allow_inf_nan=False, description="For each input.")
    per_kilobyte: float = Field(default=0.0, ge=0, description="For each 1,000 bytes of HTML, if pages are read.")
    per_root_kilobyte: float = Field(
        default=0.0,
        ge=0,
        description="By the square root of the kilobytes: the larger a page, the smaller is the part that is text.",
    )

    def seconds(self, page_bytes: float) -> float:
        """For one input; a page has so many bytes of HTML."""
        kilobytes = page_bytes / 1000
        return (self.milliseconds + self.per_kilobyte * kilobytes + self.per_root_kilobyte * sqrt(kilobytes)) / 1000


class TopicCost(Section):
    """Bytes of one record on the disk of one replica."""

    bytes: float = Field(ge=0, description="For each record.")
    per_byte: float = Field(default=0.0, ge=0, description="For each byte of HTML, of topics of pages.")

    def size(self, page_bytes: float) -> float:
        """Of one record; a page has so many bytes of HTML."""
        return self.bytes + self.per_byte * page_bytes


class ReplyCost(Section):
    """Tokens of one question to a model."""

    tokens_in: float = Field(ge=0, description="Of the prompt.")
    tokens_out: float = Field(ge=0, description="Of the longest reply.")


class Costs(Section):
    """What work costs."""

    page_bytes: float = Field(gt=0, description="HTML of an average page.")
    handlers: dict[str, CpuCost] = Field(description="CPU time of each handler.")
    broker: CpuCost = Field(description="CPU time of one broker for one input of a handler, which reads and writes it.")
    topics: dict[str, TopicCost] = Field(description="Size of the records of each topic.")
    models: dict[str, ReplyCost] = Field(description="Tokens of one question of each handler that asks models.")
    worker_megabytes: float = Field(gt=0, description="Most memory of a worker and its child.")


def read_costs(directory: Path) -> Costs:
    """The costs in a configuration directory. Raises SettingsError."""
    try:
        return Costs.model_validate(read_yaml(directory / FILE))
    except ValidationError as error:
        raise SettingsError(explain(error, str(directory / FILE))) from None
