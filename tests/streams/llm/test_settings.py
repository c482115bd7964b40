"""Invalid addresses and keys are refused at start, and the refusal does not show them."""

import pytest

from streams.llm.settings import LlmSettings
from streams.settings.model import SettingsError, load_settings


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("", ""),
        (" http://localhost:8000/v1/\n", "http://localhost:8000/v1"),
        ("https://models.example", "https://models.example"),
        ("http://[::1]:8000/v1", "http://[::1]:8000/v1"),
    ],
)
def test_addresses(given: str, kept: str) -> None:
    assert LlmSettings(base_url=given).base_url == kept


@pytest.mark.parametrize(
    "given",
    [
        "localhost:8000/v1",
        "models.example",
        "ftp://models.example",
        "http://",
        "http:///v1",
        "http://[::1",
        "http://a:99999",
        "http://a:0",
        "http://a b/v1",
        "http://user:sesame@models.example/v1",
        "http://models.example/v1?key=sesame",
        "http://models.example/v1/chat/completions",
    ],
)
def test_invalid_base_url_is_refused(given: str) -> None:
    with pytest.raises(SettingsError) as refused:
        load_settings(llm={"base_url": given})
    assert str(refused.value).startswith("configuration: llm.base_url: ")
    assert "sesame" not in str(refused.value)


@pytest.mark.parametrize("given", ["ses ame", "ses\name", "sesame\u201d", "sesame\x00"])
def test_invalid_api_key_is_refused(given: str) -> None:
    with pytest.raises(SettingsError) as refused:
        load_settings(llm={"api_key": given})
    assert str(refused.value).startswith("configuration: llm.api_key: ")
    assert given not in str(refused.value)


def test_a_key_is_not_shown() -> None:
    settings = load_settings(llm={"api_key": "sesame\n", "redis_url": "redis://:sesame@h/0"})
    assert settings.llm.api_key.get_secret_value() == "sesame"
    assert "sesame" not in f"{settings!r} {settings.model_dump_json()}"
