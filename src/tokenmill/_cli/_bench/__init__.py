"""The kinds of `tokenmill bench`: one file each, and what they share."""
