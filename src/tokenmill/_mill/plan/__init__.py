"""plan: inputs and options as people write them -> a plan that decides every output byte."""
