"""Defects of aiokafka 0.14 that Assay works around: one file a defect.

Each file says what goes wrong, whether an upstream issue is known, and which test shows that the file can be deleted.
``tests/contract/test_aiokafka.py`` fails if aiokafka no longer has the private names that these files use.
"""
