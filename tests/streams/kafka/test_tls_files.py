"""Unusable certificates and keys are reported before a client connects."""

import ssl
from pathlib import Path

import pytest

from streams.kafka.clients import TlsFileError, connection
from streams.kafka.settings import KafkaSettings
from tests.kafka.secured_kafka import KEY_PASSWORD, write_certificates
from tests.samples import instance
from tests.tables import tables

TABLES = tables(__file__)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("certificates")
    write_certificates(folder)
    (folder / "text.pem").write_text("no certificate")
    return folder


def context(folder: Path, password: str = "", **files: str) -> ssl.SSLContext:
    paths = {f"ssl_{name}": str(folder / file) for name, file in files.items()}
    section = {"bootstrap_servers": "127.0.0.1:1", "security_protocol": "SSL", "ssl_password": password, **paths}
    return instance(ssl.SSLContext, connection(KafkaSettings.model_validate(section))["ssl_context"])


def test_an_authority_of_ones_own_replaces_the_systems(folder: Path) -> None:
    [trusted] = context(folder, cafile="authority.pem").get_ca_certs()
    assert "trustme" in str(trusted["subject"])


@pytest.mark.parametrize(
    "files",
    [
        {"certfile": "client.pem", "keyfile": "client.key"},
        {"certfile": "client.pem", "keyfile": "encrypted.key", "password": KEY_PASSWORD},
        {"certfile": "both.pem", "password": KEY_PASSWORD},
    ],
)
def test_a_certificate_is_taken_with_its_key(folder: Path, files: dict[str, str]) -> None:
    assert context(folder, **files).verify_mode is ssl.CERT_REQUIRED


@pytest.mark.parametrize(("files", "named", "variable"), TABLES["a_file_that_cant_be_used_is_named_with_its_variable"])
def test_a_file_that_cant_be_used_is_named_with_its_variable(
    folder: Path, files: dict[str, str], named: str, variable: str
) -> None:
    with pytest.raises(TlsFileError, match=rf"/{named} can't be used \(.+\); see ASSAY_KAFKA__{variable}"):
        context(folder, **files)
