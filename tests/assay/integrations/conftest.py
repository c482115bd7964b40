"""These tests run with ``make test-integrations``: the development environment does not have the frameworks."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("scrapy") else ["test_*.py"]
