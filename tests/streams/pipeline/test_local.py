import subprocess
import sys

from tests.samples import ROOT


def test_a_handler_outside_of_kafka_imports_no_client() -> None:
    clients = ("aiokafka", "faststream", "httpx", "openai", "prometheus_client", "qdrant_client", "structlog")
    program = f"import streams.pipeline.local, sys; print([name for name in {clients} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, check=True, timeout=60)
    assert done.stdout.strip() == b"[]"
