"""Why a run is not faster: pure functions from counters and machine to a piece of advice, or None.

One module for each family of causes. Each piece says what was measured, the likely cause, and what
to change.
"""
