"""Invalid addresses and keys are refused at start, and the refusal does not show them."""

import pytest

from streams.settings.model import SettingsError, load_settings
from tests.tables import tables

TABLES = tables(__file__)


@pytest.mark.parametrize("given", TABLES["invalid_base_url_is_refused"])
def test_invalid_base_url_is_refused(given: str) -> None:
    with pytest.raises(SettingsError) as refused:
        load_settings(llm={"base_url": given})
    assert str(refused.value).startswith("configuration: llm.base_url: ")


@pytest.mark.parametrize("given", ["ses ame", "ses\name", "sesame\u201d", "sesame\x00"])
def test_invalid_api_key_is_refused(given: str) -> None:
    with pytest.raises(SettingsError) as refused:
        load_settings(llm={"api_key": given})
    assert str(refused.value).startswith("configuration: llm.api_key: ")
    assert given not in str(refused.value)
