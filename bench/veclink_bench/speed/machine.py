"""The machine that something is timed on: what it is, and whether anybody else is at work there."""

from __future__ import annotations

import multiprocessing
import platform
import time
from pathlib import Path

QUIET_SECONDS = 1.0


def machine_name() -> str:
    """Architecture, system and processor."""
    return f"{platform.machine()} {platform.system()}, {_processor()}"


def share_of_cores(cores: int, seconds: float = QUIET_SECONDS) -> float:
    """The share of so many cores that as many processes get: 1 where nobody else is at work."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(cores) as pool:
        return round(sum(pool.map(_share_of_core, [seconds] * cores, chunksize=1)) / cores, 3)


def _share_of_core(seconds: float) -> float:
    began, cpu_began = time.perf_counter(), time.process_time()
    while time.perf_counter() - began < seconds:
        pass
    return (time.process_time() - cpu_began) / (time.perf_counter() - began)


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
