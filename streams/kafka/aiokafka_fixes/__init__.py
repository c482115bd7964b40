"""Defects of aiokafka 0.14 that Assay works around: batches, connections, and producers of transactions.

Each file says what goes wrong, whether an upstream issue is known, and which test shows that a part can be deleted.
``tests/contract/test_aiokafka.py`` fails if aiokafka no longer has the private names that these files use.
"""
