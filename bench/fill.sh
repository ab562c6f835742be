#!/bin/bash
# Fills several tables on a machine that gets the vectors in more than one call, each of which may be cut off.
#
#   OUT=DIR bash bench/fill.sh MINUTES CORES GPU_PROCESSES FOLDER TABLE...
#
# FOLDER: a folder per corpus with MODEL.npy in each. What it holds is copied out of the repository, so that the next
# call on the same machine has it too; so are the results. $OUT gets cells.tar.gz, a JSON file for each table, packed
# anew every 20 seconds so that a call that is cut off loses little, and log.txt. $DEPS: packages that the machine lacks.
set -u
minutes=$1 cores=$2 gpu=$3 folder=$4
shift 4
kept=${KEPT:-/tmp/veclink-fill}
mkdir -p "$kept/data" "$kept/out" "$OUT"
cp -r "$folder"/. "$kept/data/"
export PYTHONPATH=src:bench${DEPS:+:$DEPS} PYTHONUNBUFFERED=1
export OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 NUMBA_NUM_THREADS=1

pack() {
  ls "$kept"/out/*.json > /dev/null 2>&1 || return
  tar -czf "$kept/cells.tar.gz" -C "$kept/out" . && mv "$kept/cells.tar.gz" "$OUT/cells.tar.gz"
}

while sleep 20; do pack; done &
packing=$!
{
  (cd "$kept/data" && echo vectors: */*.npy)
  nvidia-smi --query-gpu=name,memory.used --format=csv,noheader
  ${PYTHON:-python3} -m veclink_bench fill "$@" --data "$kept/data" --out "$kept/out" \
    --jobs "$cores" --gpu-jobs "$gpu" --minutes "$minutes"
} 2>&1 | tee "$OUT/log.txt"
kill "$packing"
pack
