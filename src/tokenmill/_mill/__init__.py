"""The mill: inputs -> packed, checksummed shards; deterministic, resumable, every token counted.

    plan/    options as people write them -> a plan        run/      a plan -> tokens -> shards
    output/  what a finished output holds                  verify/   an output against its manifest
    rewrite/ outputs -> a new output                       device/   the same work on a GPU
    watch/   a run, seen from outside                      report/   an output -> a page about it

One module per verb is the door: pack.py, stream.py, write.py, estimate.py, inspect.py, status.py,
verify/verify.py, rewrite/rewrite.py, report/report.py. Nothing is imported here, so a command loads
what it needs.
"""
