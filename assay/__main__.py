"""``python -m assay`` is the command ``assay``."""

from streams.cli.main import main

if __name__ == "__main__":
    main()
