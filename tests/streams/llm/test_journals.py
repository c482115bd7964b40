"""The journal of answers and costs, in a file and on a real Redis."""

import asyncio
import shutil
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import pytest_asyncio
import redis
from redis.exceptions import RedisError

from streams.llm import sqlite_journal
from streams.llm.journal import AnswerJournal, DayCalls, JournalError, earlier_calls, from_journal
from streams.llm.redis_journal import PREFIX, RedisJournal
from streams.llm.sqlite_journal import SqliteJournal

DAY = "2025-01-02"
SERVER = shutil.which("redis-server")


@dataclass
class Server:
    """A ``redis-server`` that keeps nothing on disk."""

    folder: Path
    port: int = 0
    process: subprocess.Popen[bytes] | None = None
    asked: redis.Redis = field(init=False)

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        """Returns when it answers; a port that another process takes first is given up."""
        for _ in range(5):
            if not self.port:
                with socket.socket() as free:
                    free.bind(("127.0.0.1", 0))
                    self.port = free.getsockname()[1]
            options = ["--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--dir", str(self.folder)]
            self.process = subprocess.Popen([str(SERVER), *options], stdout=subprocess.DEVNULL)
            self.asked = redis.Redis(port=self.port, decode_responses=True)
            while self.process.poll() is None:
                try:
                    self.asked.ping()
                except RedisError:
                    time.sleep(0.02)
                else:
                    return
            self.asked.close()
            self.port = 0
        raise AssertionError("redis-server does not start")

    def stop(self) -> None:
        self.asked.close()
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    if SERVER is None:
        pytest.skip("needs redis-server: apt-get install redis-server")
    server = Server(tmp_path_factory.mktemp("redis"))
    server.start()
    yield server
    server.stop()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "llm.sqlite"


@pytest.fixture(params=["file", "redis"])
def opened(request: pytest.FixtureRequest, path: Path) -> Callable[[], AnswerJournal]:
    """Opens the same journal again and again, as replicas and restarts do."""
    if request.param == "file":
        return lambda: SqliteJournal(path)
    server = request.getfixturevalue("server")
    server.asked.flushall()
    return lambda: RedisJournal(server.url)


Opened = Callable[[], AnswerJournal]


async def test_an_answer_and_its_cost_are_there_after_a_restart(opened: Opened) -> None:
    async with aclosing(opened()) as store:
        assert await store.get("k", 0) is None
        assert await store.keep("k", '{"text": "„ja“"}', 0, 100.5, [DAY], 0.5) == 0.5
    async with aclosing(opened()) as store:
        assert await store.get("k", 99) == '{"text": "„ja“"}'
        assert await store.book({DAY: None}, 0.0) == ("", 0.5)


async def test_calls_are_summed_up_by_day_model_and_task(opened: Opened) -> None:
    first = DayCalls(DAY, "a:7b", 1, 2, 0, 0.5, "t", True, 1, 100, 90, 10, 500)
    rows = [first, DayCalls(DAY, "a:7b", 1, 0, 1, 0.25, "t", False, 1, 200, 190, 20, 600), DayCalls(DAY, "m", 0, 0, 3)]
    for _ in range(2):
        async with aclosing(opened()) as store:
            await store.count(rows)
    async with aclosing(opened()) as store:
        assert sorted(await store.counted(DAY)) == sorted(row.plus(row) for row in rows)
        assert await store.counted("9999-01-01") == []
        openings, followups = await earlier_calls(store, "t", "a:7b")
        assert (openings.answered, openings.prompt, openings.milliseconds) == (2, 180, 1000)
        assert (followups.answered, followups.prompt, followups.milliseconds) == (2, 380, 1200)
        assert not any(calls.answered for calls in await earlier_calls(store, "t", "m"))
        await store.book({DAY: None}, 0.5)
        assert (await store.booked(DAY), await store.booked("2025-01-01")) == (0.5, 0.0)


async def test_a_booking_beyond_the_budget_is_refused(opened: Opened) -> None:
    async with aclosing(opened()) as store:
        assert await store.book({"plan": 9.0, DAY: 1.0}, 0.6) == ("", 0.6)
        refused, total = await store.book({"plan": 9.0, DAY: 1.0}, 0.6)
        assert (refused, round(total, 6)) == (DAY, 0.6)
        assert await store.booked("plan") == pytest.approx(0.6), "booked on all accounts, or on none"
        assert (await store.book({DAY: 1.0}, -0.5))[0] == ""
        assert (await store.book({DAY: None}, 0.6))[0] == ""


async def test_replicas_share_a_budget(opened: Opened) -> None:
    replicas = [opened() for _ in range(3)]

    async def books(replica: AnswerJournal) -> int:
        return sum([not (await replica.book({DAY: 5.0}, 0.125))[0] for _ in range(30)])

    booked = sum(await asyncio.gather(*(books(replica) for replica in replicas)))
    assert 38 <= booked <= 40, "a refused booking may refuse others for a moment, and none goes beyond the budget"
    assert await replicas[0].book({DAY: None}, 0.0) == ("", booked * 0.125)
    await asyncio.gather(*(replica.aclose() for replica in replicas))


# --- in a file -------------------------------------------------------------------------------------------------------


async def test_old_answers_are_forgotten(path: Path) -> None:
    store = SqliteJournal(path)
    await store.keep("old", "{}", 0, 10, [DAY], 0)
    assert [await store.get("old", now) for now in (9, 10)] == ["{}", None]
    await store.aclose()
    store = SqliteJournal(path)
    await store.keep("new", "{}", 20, 10, [DAY], 0)
    await store.aclose()
    with sqlite3.connect(path) as database:
        assert database.execute("SELECT key FROM answers").fetchall() == [("new",)]
    database.close()


def test_invalid_journal_file_is_reported_and_opened_again(path: Path) -> None:
    path.write_bytes(b"no database at all" * 100)
    store = SqliteJournal(path)
    with asyncio.Runner() as runner:
        with pytest.raises(JournalError):
            runner.run(store.get("k", 0))
        path.unlink()
        assert runner.run(store.get("k", 0)) is None
        runner.run(store.aclose())


_UNTIL_FULL = """
import asyncio, resource, sys
from pathlib import Path
from streams.llm import sqlite_journal
from streams.llm.journal import from_journal
from streams.llm.sqlite_journal import SqliteJournal
from streams.llm.journal import JournalError

async def main(path):
    store = SqliteJournal(path)
    await store.keep("paid", "{}", 0, 100, ["day"], 0.5)
    size = max(each.stat().st_size for each in path.parent.iterdir())
    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 100, unlimited[1]))
    said = []
    for work in (store.book({"day": None}, 1.0), store.keep("new", "x" * 500_000, 0, 100, ["day"], 1.0)):
        try:
            said.append(await work)
        except JournalError as error:
            said.append("refused")
    said.append(await store.get("paid", 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
    said.append(await store.book({"day": None}, 0.25))
    said.append(await store.get("new", 0))
    await store.aclose()
    print(said)

asyncio.run(main(Path(sys.argv[1])))
"""


def test_full_disk_refuses_new_writes_until_there_is_room(path: Path) -> None:
    """What was paid before can still be read; nothing of a refused write is left behind."""
    ended = subprocess.run(
        [sys.executable, "-c", _UNTIL_FULL, str(path)], capture_output=True, text=True, check=False, timeout=60
    )
    assert ended.stdout.strip() == "['refused', 'refused', '{}', ('', 0.75), None]", ended.stderr


async def test_unreadable_kept_answer_is_ignored(path: Path) -> None:
    store = SqliteJournal(path)
    await store.keep("k", "{}", 0, 100, [DAY], 0.0)
    with sqlite3.connect(path) as database:
        database.execute("UPDATE answers SET answer = CAST(x'ff00fe' AS TEXT)")
    database.close()
    kept = await store.get("k", 0)
    assert kept is not None
    assert from_journal(kept) is None
    await store.aclose()


async def test_what_is_kept_in_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_journal, "_MOST_IN_MEMORY", 10)
    monkeypatch.setattr(sqlite_journal, "_FORGET_EVERY", 5)
    store = SqliteJournal(None)
    for number in range(50):
        await store.keep(f"k{number}", "{}", number, 100, [DAY], 0.0)
    there = [number for number in range(50) if await store.get(f"k{number}", 0) is not None]
    assert there == list(range(there[0], 50))
    assert len(there) <= 15
    await store.aclose()


# --- on a server -----------------------------------------------------------------------------------------------------


@pytest_asyncio.fixture
async def store(server: Server) -> AsyncIterator[RedisJournal]:
    server.asked.flushall()
    store = RedisJournal(server.url)
    yield store
    await store.aclose()


async def test_answers_and_costs_expire(store: RedisJournal, server: Server) -> None:
    await store.keep("k", "{}", 0, 100.5, [DAY], 0.5)
    assert server.asked.ttl(f"{PREFIX}answer:k") in (99, 100)
    assert server.asked.ttl(f"{PREFIX}costs:{DAY}") >= 86_400


CALLS: list[Callable[[RedisJournal], Awaitable[object]]] = [
    lambda store: store.get("k", 0),
    lambda store: store.counted(""),
    lambda store: store.keep("k", "{}", 0, 9, [DAY], 1),
    lambda store: store.book({DAY: None}, 1),
]


async def test_a_refused_write_keeps_and_books_nothing(store: RedisJournal, server: Server) -> None:
    """A server that is full (maxmemory-policy noeviction) refuses all of a transaction."""
    await store.book({DAY: None}, 0.5)
    server.asked.config_set("maxmemory", 1)
    try:
        with pytest.raises(JournalError):
            await store.keep("k", "{}", 0, 9, [DAY], 1.0)
        with pytest.raises(JournalError):
            await store.book({DAY: None}, 1.0)
    finally:
        server.asked.config_set("maxmemory", 0)
    assert await store.get("k", 0) is None
    assert await store.book({DAY: None}, 0.0) == ("", 0.5)


async def test_stopped_server_fails_until_it_is_back(store: RedisJournal, server: Server) -> None:
    await store.book({DAY: None}, 0.5)
    server.stop()
    for call in CALLS:
        with pytest.raises(JournalError, match="ConnectionError"):
            await call(store)
    server.start()
    assert await store.book({DAY: None}, 0.25) == ("", 0.25), "this server keeps nothing over a restart"


@asynccontextmanager
async def swallowing_replies(server: Server, to: bytes) -> AsyncIterator[tuple[str, bytearray]]:
    """The URL of a relay that passes no reply on after the command ``to``, and what clients have sent by it."""
    sent = bytearray()

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        down, up = await asyncio.open_connection("127.0.0.1", server.port)
        asked = bytearray()

        async def replies() -> None:
            while data := await down.read(65536):
                if to not in asked:
                    writer.write(data)

        replying = asyncio.create_task(replies())
        while data := await reader.read(65536):
            asked.extend(data)
            sent.extend(data)
            up.write(data)
        up.write_eof()
        await replying
        up.close()
        writer.close()

    async with await asyncio.start_server(relay, "127.0.0.1", 0) as listener:
        yield f"redis://127.0.0.1:{listener.sockets[0].getsockname()[1]}/0", sent


async def test_a_booking_without_a_reply_is_sent_once(
    store: RedisJournal, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server may have done it; sent again, it would be booked again."""
    monkeypatch.setattr("streams.llm.redis_journal._SECONDS", 0.2)
    async with swallowing_replies(server, to=b"INCRBYFLOAT") as (url, sent):
        impatient = RedisJournal(url)
        with pytest.raises(JournalError, match="TimeoutError"):
            await impatient.book({DAY: None}, 0.5)
        with pytest.raises(JournalError, match="TimeoutError"):
            await impatient.keep("k", "{}", 0, 9, [DAY], 0.25)
        await impatient.aclose()
        assert await store.book({DAY: None}, 0.0) == ("", 0.75)
    keeping = sent[sent.index(b"MULTI") : sent.index(b"EXEC")]
    assert all(command in keeping for command in (b"SET", b"INCRBYFLOAT", b"EXPIRE")), "an answer and its costs are one"


@pytest.mark.parametrize("url", ["redis://127.0.0.1:x", "http://127.0.0.1"])
def test_invalid_redis_url_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(JournalError, match=r"^llm\.redis_url is no address: it is like redis://localhost:6379/0$"):
        RedisJournal(url.replace("//", "//:hunter2@"))
