"""One demonstration and one browser for all tests of the console; without Chromium they are skipped."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Dialog, Page, expect, sync_playwright

from tests.kafka_server import shared_server
from tests.samples import environment

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
TOKEN = "token-of-the-tests"
_START_SECONDS = 240
_PATIENCE_SECONDS = 60
"""For a page or an element on it: a busy machine is slow."""
_AXE_OPTIONS = {"resultTypes": ["violations"]}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The tests of this folder need a browser and take minutes."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.slow)
            item.add_marker(pytest.mark.timeout(600))
            if CHROMIUM is None:
                item.add_marker(pytest.mark.skip(reason="there is no Chromium on this machine"))


@dataclass(frozen=True)
class Demonstration:
    """A running ``assay demo``: the address of its console, and of its Kafka."""

    address: str
    kafka: str
    topic_prefix: str

    def publish(self, topic: str, *events: Mapping[str, object]) -> None:
        """Publishes events as another producer does."""
        variables = {"ASSAY_KAFKA__BOOTSTRAP_SERVERS": self.kafka, "ASSAY_KAFKA__TOPIC_PREFIX": self.topic_prefix}
        lines = "".join(json.dumps(event) + "\n" for event in events)
        command = [sys.executable, "-m", "assay", "publish", topic, "-"]
        subprocess.run(command, input=lines, text=True, env=environment(**variables), check=True, capture_output=True)


@pytest.fixture(scope="session")
def demonstration(kafka: str, pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Demonstration:
    """``assay demo`` on the Kafka of the tests, when it has done all its work; one for all processes of the run."""
    folder = tmp_path_factory.getbasetemp()
    shared = folder.parent if hasattr(pytestconfig, "workerinput") else folder
    log = tmp_path_factory.mktemp("demo") / "out.txt"
    place = shared_server("demo", shared, lambda: _running(kafka, log), pytestconfig.add_cleanup)
    address, prefix = place.split()
    return Demonstration(address, kafka, prefix)


@contextlib.contextmanager
def _running(kafka: str, log: Path) -> Iterator[str]:
    """Runs the demonstration; gives the address of its console and the prefix of its topics."""
    variables = environment(
        ASSAY_KAFKA__BOOTSTRAP_SERVERS=kafka,
        ASSAY_HTTP__PORT="0",
        ASSAY_HTTP__TOKEN=TOKEN,
        ASSAY_CONSOLE__PORT="0",
        # On a slow or busy machine, a page of 8 MB takes more than the shipped 5 s.
        ASSAY_WORKERS__CPU_SECONDS="30",
        COLUMNS="200",
    )
    command = [sys.executable, "-m", "assay", "demo"]
    with log.open("wb") as out:
        demo = subprocess.Popen(command, cwd=log.parent, env=variables, stdout=out, stderr=subprocess.STDOUT)
    try:
        until = time.monotonic() + _START_SECONDS
        while "done; Ctrl-C" not in (text := log.read_text("utf-8", "replace")):
            assert demo.poll() is None, text
            assert time.monotonic() < until, text
            time.sleep(0.2)
        [address] = re.findall(r"the console is at (http://\S+)", text)
        [prefix] = re.findall(r"topics under (\S+)", text)
        yield f"{address} {prefix}"
    finally:
        demo.send_signal(signal.SIGINT)
        demo.wait(60)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium without a window. Playwright's event loop runs as long; no other test could run one."""
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        expect.set_options(timeout=1000 * _PATIENCE_SECONDS)
        yield browser
        browser.close()


@dataclass
class Visit:
    """A page of the browser at the console, and what went wrong on it."""

    page: Page
    address: str
    problems: list[str] = field(default_factory=list)
    accepts: bool = False
    """Whether a question of the page is answered with yes; otherwise a question is a problem."""

    def open(self, path: str) -> Page:
        """Opens a screen."""
        self.page.goto(self.address + path)
        return self.page

    def sign_in(self) -> None:
        """Signs in, so that actions are possible."""
        self.open("/sign-in")
        self.page.get_by_label("Token").fill(TOKEN)
        self.page.get_by_role("main").get_by_role("button", name="Sign in").click()
        self.page.get_by_role("button", name="Sign out").wait_for()

    def answer(self, dialog: Dialog) -> None:
        """Answers a question of the page."""
        if self.accepts:
            dialog.accept()
        else:
            self.problems.append(f"dialog: {dialog.message}")
            dialog.dismiss()

    def violations(self) -> list[str]:
        """What axe finds on the present page."""
        found = Axe().run(self.page, options=_AXE_OPTIONS).response["violations"]
        return [f"{its['id']}: {[node['html'][:200] for node in its['nodes']]}" for its in found]


Visits = Callable[..., Visit]


_DEFAULTS = {"viewport": {"width": 1280, "height": 800}, "reduced_motion": "reduce"}
"""Of a page. Nothing moves, because the contrast of a colour that fades can't be measured."""


@pytest.fixture
def visits(demonstration: Demonstration, browser: Browser) -> Iterator[Visits]:
    """Opens pages of the console: ``visits(color_scheme="dark", viewport={"width": 360, "height": 740})``.

    At the end, no page has had an error of a script, a violation of the policy, or a request to another host.
    """
    opened: list[Visit] = []

    def visit(**options: object) -> Visit:
        page = browser.new_page(**(_DEFAULTS | options))  # type: ignore[arg-type]
        page.set_default_timeout(1000 * _PATIENCE_SECONDS)
        new = Visit(page, demonstration.address)
        page.on("dialog", new.answer)
        page.on("pageerror", lambda error: new.problems.append(f"script: {error}"))
        page.on("console", lambda said: new.problems.append(f"console: {said.text}") if said.type == "error" else None)
        page.on("request", lambda asked: new.problems.append(asked.url) if _foreign(asked.url, new.address) else None)
        opened.append(new)
        return new

    yield visit
    for its in opened:
        its.page.close()
    assert [problem for its in opened for problem in its.problems] == []


def _foreign(url: str, address: str) -> bool:
    return not url.startswith((address + "/", "data:", "blob:"))
