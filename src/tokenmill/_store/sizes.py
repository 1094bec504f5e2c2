"""How objects are read: in ranges of this size, so many of one stream at a time."""

RANGE_BYTES = 4 << 20
IN_FLIGHT = 6  # requested, or waiting to be read
