"""Code for processes that kill themselves before a step that changes names on disk."""

from __future__ import annotations

KILL_BEFORE = """
import os, signal, sys

def kill_before(step):
    seen = 0
    def hook(event, arguments):
        nonlocal seen
        looked_up = event == "ctypes.dlsym" and arguments[1] == "renameat2"
        if looked_up or event in ("os.mkdir", "os.rename", "os.remove", "os.rmdir", "shutil.rmtree"):
            seen += 1
            if seen == step:
                os.kill(os.getpid(), signal.SIGKILL)
    sys.addaudithook(hook)
"""
"""`kill_before(step)`: from then on this process is killed before its step-th change of a name on disk."""
