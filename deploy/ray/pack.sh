#!/bin/bash
# Packs a corpus on a Ray cluster, as a job of it. Run it anywhere that reaches the dashboard:
#     RAY_API_SERVER_ADDRESS=http://head:8265 deploy/ray/pack.sh
# and again to resume after a failure. Every node needs tokenmill[ray] of the same version, and both
# folders under the same paths. Nodes may join and leave while it runs.
set -euo pipefail

INPUT=${INPUT:-/shared/corpus}
OUTPUT=${OUTPUT:-/shared/packed}
TOKENIZER=${TOKENIZER:-/shared/llama3/tokenizer.json}

# The command itself needs no CPU of the cluster: its workers take them.
exec ray job submit --entrypoint-num-cpus 0 -- \
    tokenmill pack "$INPUT" -o "$OUTPUT" -t "$TOKENIZER" \
    --context-length 4096 --shuffle docs --seed 7 --validation 0.1% \
    --engine ray --address auto --progress plain
