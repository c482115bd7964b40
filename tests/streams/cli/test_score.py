"""``assay score``: pages of files, folders, standard input and the web, for people and for programs."""

import asyncio
import json
import subprocess
from pathlib import Path
from typing import Any

from tests.command_line import Done, Ran
from tests.samples import ROOT, environment
from tests.streams.fetch.web import response, serving
from tests.warm_processes import WARM, warm_processes

PAGE = b"<title>Storm</title><p>The storm reached the coast on Monday and closed two harbours.</p>"


def lines(done: Done) -> list[dict[str, Any]]:
    return [json.loads(line) for line in done.out.splitlines()]


async def test_addresses_are_fetched_with_the_guard(assay: Ran, tmp_path: Path) -> None:
    config = tmp_path / "local.yaml"
    async with serving() as web:
        web.routes["/storm"] = response(PAGE.decode())
        config.write_text(f"fetch: {{resolve: {{site.example: '{web.place}'}}, min_delay_seconds: 0}}\n", "utf-8")
        done = await asyncio.to_thread(assay, "score", "http://site.example/storm", "--config", str(config))
        [refused] = lines(private := await asyncio.to_thread(assay, "score", f"http://{web.place}/storm"))
    [page] = lines(done)
    assert (page["url"], page["title"], done.status) == ("http://site.example/storm", "Storm", 0)
    assert (refused["refused"], private.status) == ("forbidden_address", 1)


def test_the_log_is_not_among_the_results() -> None:
    program = "from streams.cli.main import main; main()"
    with warm_processes():
        done = subprocess.run(
            [WARM, "-c", program, "score", "http://127.0.0.1:1/"],
            cwd=ROOT, env=environment(ASSAY_FETCH__CACHE_PATH="/dev/full"), capture_output=True, check=False,
        )  # fmt: skip
    [line] = done.stdout.splitlines()
    assert json.loads(line)["refused"] == "forbidden_address"
    assert b"fetch cache failed" in done.stderr
