"""Fixtures for every test: one Kafka per run, and separate names for each test."""

import asyncio
import contextlib
import functools
import gc
import os
import pickle
import re
import signal
import ssl
import sys
import uuid
import warnings
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import certifi
import hypothesis
import pytest
import yaml
from _pytest.doctest import DoctestModule
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError

from schemas.rules import Rules
from streams.cli.command import as_command
from streams.kafka.clients import opened
from streams.local_kafka.install import KAFKA_VERSION, cache_folder
from streams.settings.model import Settings
from streams.topology import HANDLERS
from tests.command_line import Done, Ran
from tests.kafka_server import shared_kafka
from tests.rules import one_of_equals, read_shipped_once


@pytest.fixture(scope="session")
def kafka(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Bootstrap servers of a real Kafka. Topics are not created by themselves; see ``topic_prefix``."""
    folder = tmp_path_factory.getbasetemp()
    in_worker = hasattr(pytestconfig, "workerinput")
    return shared_kafka(folder.parent if in_worker else folder, pytestconfig.add_cleanup)


@pytest.fixture
def topic_prefix(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A prefix that no other test uses, such as ``t3f9a1c07b2d.``, for topics, groups and transactional ids.

    The test creates the topics that it uses; commands create none, for each of them would create all. The topics are
    deleted after the test, because the broker keeps a file open for each partition.
    """
    monkeypatch.setenv("ASSAY_KAFKA__CREATE_TOPICS", "false")
    prefix = f"t{uuid.uuid4().hex[:11]}."
    servers = request.getfixturevalue("kafka") if "kafka" in request.fixturenames else None
    yield prefix
    if servers is not None:
        # In a thread, for the test's own event loop may still be there.
        with ThreadPoolExecutor(1) as thread:
            thread.submit(asyncio.run, _delete_topics(servers, prefix)).result()


@pytest.fixture
def ran(capsys: pytest.CaptureFixture[str]) -> Ran:
    """Calls a command's function in this process, and reports its errors as commands do."""

    def call(command: Callable[..., int], *given: Any, **named: Any) -> Done:
        capsys.readouterr()
        status = as_command("TEST", lambda: command(*given, **named))()
        return Done(status, *capsys.readouterr())

    return call


@pytest.fixture(autouse=True)
def _own_state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Journal, fetch cache and index of each test are new: neither those of the checkout nor those of another test.

    Handlers run in the test's own process, because a test of something else should not start children. The tests in
    ``streams/workers`` and some in ``kafka`` start them.
    """
    folder = tmp_path_factory.getbasetemp() / "state" / uuid.uuid4().hex
    monkeypatch.setenv("ASSAY_LLM__CACHE_PATH", str(folder / "llm.sqlite"))
    monkeypatch.setenv("ASSAY_FETCH__CACHE_PATH", str(folder / "fetch.sqlite"))
    monkeypatch.setenv("ASSAY_INDEX__PATH", str(folder / "index"))
    monkeypatch.setenv("ASSAY_WORKERS__PROCESSES", "0")


@pytest.fixture(autouse=True, scope="module")
def _leaks_show_in_their_file() -> Iterator[None]:
    """A socket or coroutine that is left open in a reference cycle is a warning when it is collected.

    At the beginning that is what the fixtures of the previous file's last test left. What then lives on, such as rules
    that tests share, is left out of later collections.
    """
    gc.collect()
    gc.freeze()
    yield
    gc.collect()


@pytest.fixture
def children(monkeypatch: pytest.MonkeyPatch) -> None:
    """Handlers that read pages run in a child process, as by default for users."""
    monkeypatch.setenv("ASSAY_WORKERS__PROCESSES", "1")


IN_CI = bool(os.environ.get("CI"))
MOST_RERUNS = 2
"""More tests that pass only at their second try are a fault of the product or of the tests, not of the machine."""
CHARACTERS_OF_REASON = 300
SHARE_WITH_BROKER = 0.8
"""Part of a run in which files with a broker begin: a long one at the end would keep one processor busy alone."""
LONGEST = (
    "tests/docs/test_tutorial.py",
    "tests/handlers/html/test_limits.py",
    "tests/kafka/test_worker_processes.py",
    "tests/streams/cli/test_terminal.py",
    "tests/simulation/test_simulation.py",
    "tests/test_wheel.py",
    "tests/streams/workers/test_pool.py",
)
"""Files that take long begin first, or they would run alone at the end."""
ROOT = Path(__file__).parents[1]
_ALL_SLOW = re.compile(r"^pytestmark = .*\bslow\b", re.MULTILINE)
MARKED_FOLDERS = {ROOT / "tests" / "console": "slow", ROOT / "tests" / "kafka": "kafka"}
"""Their conftest.py marks each of their tests."""

# A developer's runs try other examples each time. A run in CI tries the same ones, and a failure there can be repeated.
hypothesis.settings.register_profile("assay", deadline=None, derandomize=IN_CI, print_blob=True)
hypothesis.settings.load_profile("assay")


def state_of_the_checkout() -> dict[Path, int]:
    """What Assay keeps in the checkout, with the times of its changes. Environments of other Pythons are left out."""
    found: dict[Path, int] = {}
    for folder, folders, files in os.walk(ROOT / ".assay"):
        if "pyvenv.cfg" in files:
            folders.clear()
            continue
        found |= {path: path.stat().st_mtime_ns for name in files if (path := Path(folder, name)).is_file()}
    return found


STATE_BEFORE = {} if "PYTEST_XDIST_WORKER" in os.environ else state_of_the_checkout()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """More than one a core, because tests wait. Each worker collects all tests."""
    return 5 * (os.cpu_count() or 1) // 2


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests on a real broker have a second try in CI, because a busy machine can starve the broker.

    Processes that share the tests get files with and without a broker in turns: tests of the first kind wait most of
    their time, and those of the second kind use the processors meanwhile.
    """
    if IN_CI:
        for item in items:
            if item.get_closest_marker("kafka"):
                item.add_marker(pytest.mark.flaky(reruns=1))
    if hasattr(config, "workerinput"):
        with_broker = {_file_of(item): None for item in items if item.get_closest_marker("kafka")}
        without = {_file_of(item): None for item in items if _file_of(item) not in with_broker}
        places = {file: SHARE_WITH_BROKER * place / len(with_broker) for place, file in enumerate(with_broker)}
        places |= {file: place / len(without) for place, file in enumerate(without)}
        places |= dict.fromkeys(LONGEST, -1.0)
        items.sort(key=lambda item: places[_file_of(item)])


def pytest_collection_finish() -> None:
    """Excludes the present objects from garbage collection, because they live until the end.

    Later ones are collected less often than usual, which takes a tenth off the CPU time of the tests, and at the end of
    each file.
    """
    gc.freeze()
    gc.set_threshold(10_000, 10, 10)
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """A run is not green that tested nothing, needed many second tries, or wrote into the checkout."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if hasattr(session.config, "workerinput") or reporter is None or session.config.option.collectonly:
        return
    problems = []
    if session.exitstatus == pytest.ExitCode.OK and not reporter.stats.get("passed"):
        problems.append("no test passed")
    for report in (reruns := reporter.stats.get("rerun", [])):
        reporter.write_line(f"\nsecond try: {report.nodeid}: {report.longreprtext.strip()[-CHARACTERS_OF_REASON:]}")
    if len(reruns) > MOST_RERUNS:
        problems.append(f"{len(reruns)} tests needed a second try; {MOST_RERUNS} may")
    if written := sorted(state_of_the_checkout().items() - STATE_BEFORE.items()):
        problems.append(f"tests wrote into the checkout: {', '.join(str(path) for path, _ in written)}")
    for problem in problems:
        reporter.write_line(f"\nThe run failed: {problem}", red=True)
    if problems and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Lists what ``.ci/run`` left out before this run."""
    if left_out := os.environ.get("NOT_RUN", "").splitlines():
        terminalreporter.section("left out before this run")
        for line in left_out:
            terminalreporter.write_line(line)


class OnlyWhatRuns:
    """Files from which no test would run are not imported."""

    @pytest.hookimpl(wrapper=True)
    def pytest_collect_file(self, file_path: Path) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
        """A file without a prompt has no doctests."""
        found = yield
        return [its for its in found if not isinstance(its, DoctestModule) or ">>> " in file_path.read_text("utf-8")]

    def pytest_ignore_collect(self, collection_path: Path, config: pytest.Config) -> bool | None:
        """What the marks of a run leave out is seen in the text of a file, or known of a folder."""
        wanted = config.option.markexpr
        if collection_path.suffix != ".py":
            mark = MARKED_FOLDERS.get(collection_path)
            return True if mark and f"not {mark}" in wanted else None
        text = collection_path.read_text("utf-8")
        if "not slow" in wanted:
            return True if collection_path.name.startswith("test_") and _ALL_SLOW.search(text) else None
        slow = "mark.slow" in text or MARKED_FOLDERS.get(collection_path.parent) == "slow"
        return True if wanted == "slow" and not slow else None


def pytest_configure(config: pytest.Config) -> None:
    """Makes processes alike, however they are started, and lets each read the shipped configuration once."""
    config.pluginmanager.register(OnlyWhatRuns())
    if not config.getoption("numprocesses", None):
        gc.disable()  # until all tests are collected; the process that shares them out collects none
    # Most tests load the shipped configuration, and to read its files takes four fifths of that time.
    load: Any = yaml.load
    pickled = functools.cache(lambda text, loader: pickle.dumps(load(text, loader)))
    quick: dict[Any, Any] = {yaml.SafeLoader: getattr(yaml, "CSafeLoader", yaml.SafeLoader)}
    vars(yaml)["load"] = lambda text, Loader: pickle.loads(pickled(text, quick.get(Loader, Loader)))  # noqa: N803, S301
    read_shipped_once()
    make_rules, shipped = Settings.rules, {handler.rules for handler in HANDLERS}

    def rules(settings: Settings, kind: type[Rules]) -> Rules:
        made = make_rules(settings, kind)
        return one_of_equals(made) if kind in shipped else made

    Settings.rules = rules  # type: ignore[method-assign,assignment]
    # No test asks a server with a public certificate, and each client would read all public authorities anew. Where the
    # local broker is not here yet, it is fetched from one.
    load_authorities, paths = ssl.SSLContext.load_verify_locations, ssl.get_default_verify_paths()
    public = {certifi.where(), *filter(None, paths)}

    def load_own(context: ssl.SSLContext, cafile: Any = None, capath: Any = None, cadata: Any = None) -> None:
        if cadata or not {cafile, capath} & public:
            load_authorities(context, cafile, capath, cadata)

    if (cache_folder() / f"kafka-{KAFKA_VERSION}").is_dir():
        ssl.SSLContext.load_verify_locations = load_own  # type: ignore[assignment,method-assign]
    # A shell makes background processes ignore Ctrl-C, and their children inherit that.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # Only in some processes readline announces a terminal's size, which output is then wrapped to.
    for name in ("COLUMNS", "LINES"):
        os.environ.pop(name, None)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """What a first try left open, as tasks do that end in the middle of a connect, is not the second one's fault."""
    if getattr(item, "execution_count", 1) > 1:
        sys.last_value = sys.last_traceback = None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            gc.collect()


def _file_of(item: pytest.Item) -> str:
    return item.nodeid.partition("::")[0]


async def _delete_topics(servers: str, prefix: str) -> None:
    """A broker that does not answer any more is the next test's matter."""
    admin = AIOKafkaAdminClient(bootstrap_servers=servers, client_id="assay-tests")
    with contextlib.suppress(KafkaError, OSError):
        async with asyncio.timeout(20), opened(admin):
            if mine := [topic for topic in await admin.list_topics() if topic.startswith(prefix)]:
                await admin.delete_topics(mine)
