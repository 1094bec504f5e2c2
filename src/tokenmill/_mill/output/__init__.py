"""output: the files of an output and its work folder, as they are on disk."""
