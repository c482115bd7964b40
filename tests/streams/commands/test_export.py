import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from aiokafka import TopicPartition

import streams.commands.export
import streams.commands.trial
from streams.commands.export import Export, run_export
from streams.settings import Settings, load_settings
from tests.samples import scored


@pytest.fixture
def settings() -> Settings:
    return load_settings(kafka={"bootstrap_servers": "127.0.0.1:1"})


def event(number: int) -> dict[str, Any]:
    return scored(f"https://a.example/{number}", "text").to_wire()


FORMS = [
    event(1),
    {"topic": "pages.scored.v1", "offset": 3, "value": event(2)},
    {"outcome": "emit", "reason": None, "events": [{"topic": "pages.scored.v1", "value": event(3)}]},
]
WRONG = [
    b"no json",
    b"[]",
    b"7",
    b'{"outcome": "dead", "reason": "invalid", "events": []}',
    b'{"events": 7}',
    b'{"events": [7]}',
    b'{"value": {"url": "u"}}',
]


def lines(*values: Any) -> bytes:
    return b"".join((v if isinstance(v, bytes) else json.dumps(v).encode()) + b"\n" for v in values)


def addresses(rows: bytes) -> list[str]:
    return [line.split("\t")[0] for line in rows.decode().splitlines()]


def test_a_page_may_come_in_every_form_that_assay_writes(
    settings: Settings, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    source = tmp_path / "pages.jsonl"
    source.write_bytes(lines(*FORMS, b""))

    assert run_export(Export(source=source), settings, as_json=True) == 0

    out, err = capsysbinary.readouterr()
    assert addresses(out) == [f"https://a.example/{number}" for number in (1, 2, 3)]
    assert {name: value for name, value in json.loads(err).items() if name != "seconds"} == {
        "exported": 3,
        "refused": 0,
    }


def test_what_is_no_scored_page_is_told_and_the_rest_goes_on(
    settings: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, output = tmp_path / "pages.jsonl", tmp_path / "pages.tsv"
    source.write_bytes(lines(*WRONG, FORMS[0], *[b"no json"] * 20))

    assert run_export(Export(source=source, output=output), settings) == 1

    out, err = capsys.readouterr()
    assert addresses(output.read_bytes()) == ["https://a.example/1"]
    assert out.startswith(f"exported 1 to {output}, refused 27, in ")
    assert [f"{source}:{number}: " in err for number in (1, 7, 21, 22)] == [True, True, True, False]
    assert "and 7 more refused" in err
    assert "default factory" not in err


def test_a_file_gets_its_summary_on_standard_output(
    settings: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "pages.jsonl"
    source.write_bytes(lines(event(1), event(2), event(1)))
    export = Export(source=source, output=tmp_path / "pages.tsv", newest=True, most=3)

    assert run_export(export, settings, as_json=True) == 0

    assert json.loads(capsys.readouterr().out)["exported"] == 2
    assert addresses((tmp_path / "pages.tsv").read_bytes()) == ["https://a.example/2", "https://a.example/1"]


def test_so_many_records_and_no_more(settings: Settings, tmp_path: Path) -> None:
    source = tmp_path / "pages.jsonl"
    source.write_bytes(lines(event(1), b"no json", event(2)))

    assert run_export(Export(source=source, output=tmp_path / "pages.tsv", most=1), settings) == 0

    assert addresses((tmp_path / "pages.tsv").read_bytes()) == ["https://a.example/1"]


def test_standard_input_is_read(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    (tmp_path / "pages").write_bytes(lines(event(1), b"x"))
    with (tmp_path / "pages").open("rb") as pages:
        monkeypatch.setattr(streams.commands.export, "STANDARD_INPUT", pages.fileno())
        assert run_export(Export(source=Path("-")), settings) == 1

    out, err = capsysbinary.readouterr()
    assert addresses(out) == ["https://a.example/1"]
    assert b"standard input:2: no JSON" in err


@pytest.mark.parametrize("source", ["-", "pages"])
def test_a_line_that_is_too_long_is_passed_over(
    settings: Settings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsysbinary: pytest.CaptureFixture[bytes],
    source: str,
) -> None:
    monkeypatch.setattr(streams.commands.export, "LARGEST_LINE", 2000)
    monkeypatch.setattr(streams.commands.trial, "TOPIC_BYTES", 2000)
    monkeypatch.chdir(tmp_path)
    Path("pages").write_bytes(lines(event(1), b"x" * 100_000, event(2)))
    with Path("pages").open("rb") as pages:
        monkeypatch.setattr(streams.commands.export, "STANDARD_INPUT", pages.fileno())
        assert run_export(Export(source=Path(source)), settings) == 1

    out, err = capsysbinary.readouterr()
    assert addresses(out) == ["https://a.example/1", "https://a.example/2"]
    assert b":2: the line is longer than 2000 bytes" in err


def test_a_terminal_sees_how_far_it_is(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "pages.jsonl"
    source.write_bytes(lines(*[event(number) for number in range(50)]))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)

    assert run_export(Export(source=source, output=tmp_path / "pages.tsv"), settings) == 0

    assert "exported 50" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("export", "status", "says"),
    [
        (Export(start="yesterday"), 2, "--from takes earliest, latest or an offset, not 'yesterday'"),
        (Export(start="latest", source=Path("x")), 2, "a file is read from its beginning"),
        (Export(source=Path("absent.jsonl")), 1, "absent.jsonl: No such file or directory"),
        (Export(source=Path(os.devnull), output=Path("absent/x")), 1, "absent/x: No such file or directory"),
        (Export(), 1, "no Kafka at 127.0.0.1:1"),
    ],
)
def test_trouble_is_one_line(
    settings: Settings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    export: Export,
    status: int,
    says: str,
) -> None:
    monkeypatch.chdir(tmp_path)

    assert run_export(export, settings) == status

    out, err = capsys.readouterr()
    assert (out, len(err.splitlines())) == ("", 1)
    assert says in err
    assert list(tmp_path.iterdir()) == []


class SilentReader:
    """Stands in for a consumer whose cluster has fallen silent: a real one can't be made to."""

    def __init__(self) -> None:
        self.stopped = False

    async def start(self) -> None:
        return None

    async def stop(self) -> None:
        self.stopped = True

    def assign(self, *_: Any) -> None:
        return None

    def seek(self, *_: Any) -> None:
        return None

    async def beginning_offsets(self, partitions: Any) -> dict[Any, int]:
        return dict.fromkeys(partitions, 0)

    async def end_offsets(self, partitions: Any) -> dict[Any, int]:
        return dict.fromkeys(partitions, 5)

    async def position(self, *_: Any) -> int:
        return 2

    async def getmany(self, **_: Any) -> dict[Any, Any]:
        await asyncio.sleep(0.01)
        return {}


def test_a_silent_cluster_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def partitions(*_: object) -> list[TopicPartition]:
        return [TopicPartition("pages.scored.v1", 0)]

    reader = SilentReader()
    monkeypatch.setattr(streams.commands.export, "partitions_of", partitions)
    monkeypatch.setattr(streams.commands.export, "make_reader", lambda *_: reader)
    settings = load_settings(kafka={"bootstrap_servers": "127.0.0.1:1", "transaction_timeout_seconds": 0.05})

    assert run_export(Export(output=tmp_path / "pages.tsv"), settings) == 1

    assert "no record came for 0.05 s, 3 are left" in capsys.readouterr().err
    assert reader.stopped
    assert list(tmp_path.iterdir()) == []
