"""``assay run`` where its Kafka does not answer."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("wished", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_while_it_waits_for_a_silent_kafka(wished: signal.Signals, tmp_path: Path) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.upper().startswith("ASSAY_")}
    with socket.create_server(("127.0.0.1", 0)) as silent:
        where = f"127.0.0.1:{silent.getsockname()[1]}"
        with subprocess.Popen(
            [sys.executable, "-c", "from streams.cli import main; main()", "run", "score_page"],
            cwd=tmp_path,
            env=kept | {"PYTHONPATH": str(ROOT), "ASSAY_KAFKA__BOOTSTRAP_SERVERS": where, "ASSAY_HTTP__PORT": "0"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process:
            silent.settimeout(60)
            connection, _ = silent.accept()
            process.send_signal(wished)
            out, err = process.communicate(timeout=60)
            connection.close()
    # Nothing was in hand, so nothing is left undone; and nobody has to read a traceback.
    assert process.returncode == 0
    assert out == err == b""
