"""`python -m tokenmill` is the command line."""

import sys

from tokenmill._cli import main

sys.exit(main())
