#!/bin/bash
# Fills several tables on a machine that gets the vectors in more than one call, each of which may be cut off.
#
#   OUT=DIR bash bench/fill.sh MINUTES CORES GPU_PROCESSES FOLDER TABLE...
#
# FOLDER: a folder per corpus with MODEL.npy in each. What it holds is copied out of the repository, so that the next
# call on the same machine has it too; so are the results. $OUT gets a JSON file for each table, and log.txt.
set -u
minutes=$1 cores=$2 gpu=$3 folder=$4
shift 4
kept=${KEPT:-/tmp/veclink-fill}
mkdir -p "$kept/data" "$kept/out" "$OUT"
cp -r "$folder"/. "$kept/data/"
cp "$kept"/out/*.json "$OUT/" 2>/dev/null
export PYTHONPATH=src:bench PYTHONUNBUFFERED=1
export OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 NUMBA_NUM_THREADS=1
{
  (cd "$kept/data" && echo vectors: */*.npy)
  nvidia-smi --query-gpu=name,memory.used --format=csv,noheader
  ${PYTHON:-python3} -m veclink_bench fill "$@" --data "$kept/data" --out "$OUT" \
    --jobs "$cores" --gpu-jobs "$gpu" --minutes "$minutes"
} 2>&1 | tee "$OUT/log.txt"
cp "$OUT"/*.json "$kept/out/"
