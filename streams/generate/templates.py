"""Reads the data and the templates of generated files, which are in the folder ``templates``.

Data is YAML in which ``<<name>>`` is filled in. The composition, the Kubernetes manifests and the pages of the
documentation are templates of Jinja2 with the delimiters ``<< >>`` and ``<% %>``, because ``{{ }}`` and ``${ }`` belong
to what is generated. The worker services of the composition are here, too: other files name them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from schemas.needs import FetchPages
from streams.topology import HANDLERS, Handler
from streams.topology.text import to_yaml

FOLDER = Path(__file__).parent / "templates"
_NAME = re.compile(r"<<(\w+)>>")
_LOADER: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@cache
def read_data(name: str) -> Any:
    """The content of a YAML file, not to be changed."""
    return yaml.load((FOLDER / name).read_text("utf-8"), Loader=_LOADER)  # noqa: S506 - a safe loader


def filled(part: Any, values: Mapping[str, Any]) -> Any:
    """A part of the data with its names filled in; a text that is one name becomes the value itself.

    Raises KeyError if a name has no value.
    """
    if isinstance(part, dict):
        return {key: filled(value, values) for key, value in part.items() if key != "for_each"}
    if isinstance(part, list):
        return [filled(value, values) for value in part]
    if not isinstance(part, str):
        return part
    if whole := _NAME.fullmatch(part):
        return values[whole[1]]
    return _NAME.sub(lambda name: str(values[name[1]]), part)


def rendered(template: str, /, **values: Any) -> list[Any]:
    return list(yaml.load_all(rendered_text(template, **values), Loader=_LOADER))


def rendered_text(template: str, /, **values: Any) -> str:
    import jinja2  # only `assay generate` needs it

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(FOLDER),
        variable_start_string="<<", variable_end_string=">>", block_start_string="<%", block_end_string="%>",
        comment_start_string="<#", comment_end_string="#>",
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True, undefined=jinja2.StrictUndefined,
        autoescape=False,  # noqa: S701 - YAML and Markdown
    )  # fmt: skip
    return environment.get_template(template).render(values)


HTTP_PORT = 8080
STATE = "/var/lib/assay"
"""Where a worker keeps what should outlive it: fetched pages, or the embedded index. Nothing else can be written to."""
GRACE = "40s"  # longer than the drain budget (``pipeline.drain_seconds``), so that a stop is a drain and not a kill


def compose_workers() -> dict[Path, str]:
    [document] = rendered(
        "compose.yaml.j2",
        handlers=HANDLERS,
        port=HTTP_PORT,
        state=STATE,
        grace=GRACE,
        fetches=lambda handler: FetchPages in handler.asks,
    )
    return {Path("config/generated/compose.workers.yml"): to_yaml(document)}


def service_name(handler: Handler) -> str:
    """The service of a handler; a host name has no underscores."""
    return handler.name.replace("_", "-")
