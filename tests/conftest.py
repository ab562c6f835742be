"""Settings for all tests: few threads, so that runs on small machines are steady, and one hypothesis profile."""

from __future__ import annotations

import os

# Before numpy, numba or torch are imported: they read these once.
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

from hypothesis import HealthCheck, settings

# The same examples on every run, no deadline (the first call of a compiled kernel is slow), no database on disk.
settings.register_profile(
    "veclink",
    deadline=None,
    derandomize=True,
    max_examples=25,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("veclink")
