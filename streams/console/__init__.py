"""The web console: what flows, why a decision was made, and what can be done about it.

``app`` has the list of screens; the screen of a crawled page is ``page``. ``store`` keeps the newest decisions,
``records`` reads pages from Kafka, and ``what_if`` fetches a page from the web.
"""
