"""`python -m palpate`: the command line."""

import sys

from palpate.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
