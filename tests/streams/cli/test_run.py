"""``assay run`` without an answering Kafka."""

import json
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from tests.samples import environment
from tests.warm_processes import WARM, warm_processes

PROGRAM = "from streams.cli.main import main; main()"


@pytest.mark.parametrize("wished", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_while_it_waits_for_a_silent_kafka(wished: signal.Signals, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        where = f"127.0.0.1:{silent.getsockname()[1]}"
        with (
            warm_processes(),
            subprocess.Popen(
                [WARM, "-c", PROGRAM, "run", "score_page"],
                cwd=tmp_path,
                env=environment(ASSAY_KAFKA__BOOTSTRAP_SERVERS=where, ASSAY_HTTP__PORT="0"),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            ) as process,
        ):
            silent.settimeout(60)
            connection, _ = silent.accept()
            assert process.stderr is not None
            told = json.loads(process.stderr.readline())
            process.send_signal(wished)
            out, err = process.communicate(timeout=60)
            connection.close()
    # Nothing was in flight, so nothing is lost; and there is no traceback.
    assert process.returncode == 0
    assert told["reason"] == f"Kafka at {where} did not answer within 4 s"
    assert b"Traceback" not in err
    assert out == b""


def test_endless_start_is_reported_and_ended(tmp_path: Path) -> None:
    """A group without partitions waits for them; the operator must be told to restart it."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        flags = {
            "ASSAY_KAFKA__BOOTSTRAP_SERVERS": f"127.0.0.1:{silent.getsockname()[1]}",
            "ASSAY_KAFKA__CREATE_TOPICS": "false",
            "ASSAY_PIPELINE__STALLED_SECONDS": "1",
            "ASSAY_HTTP__PORT": "0",
        }
        with warm_processes():
            done = subprocess.run(
                [WARM, "-c", PROGRAM, "run", "score_page", "--drain", "--json"],
                cwd=tmp_path, env=environment(**flags), capture_output=True, timeout=120, check=False,
            )  # fmt: skip
    assert done.returncode == 1
    assert b"wedged; a restart may help" in done.stderr
    assert b"assay.score_page: no partitions were assigned" in done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["caught_up"] is False
