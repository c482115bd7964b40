"""A command's function called in this process, and what it wrote."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Done:
    """How a call ended."""

    status: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The last line of standard output as JSON."""
        return json.loads(self.out.splitlines()[-1])

    @property
    def complaint(self) -> str:
        """The one line on standard error; nothing is on standard output."""
        assert (self.out, self.err.count("\n")) == ("", 1), self
        return self.err


Ran = Callable[..., Done]
