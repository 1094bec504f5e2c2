"""`tokenmill.toml`: how to run on one machine. Nothing in it changes an id or an output byte."""

from tokenmill._config.configuration import VARIABLE, Configuration, configured, read_configuration

__all__ = ["VARIABLE", "Configuration", "configured", "read_configuration"]
