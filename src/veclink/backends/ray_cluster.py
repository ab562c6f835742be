"""A Ray cluster: connecting to it, and running work there in tasks of which a lost one runs again."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from veclink import __version__
from veclink.errors import InputError, VeclinkError, needed

RETRIES = 10  # times that a task starts again because its worker or machine went away
WAITING = 4  # tasks for each worker that are under way at once: the next one is there when one ends
ANSWER = 10  # seconds within which the machine at an address has to answer
UNKNOWN = "failed to import on the worker"  # what Ray says where a node lacks the code of a task

Tag = TypeVar("Tag")
Call = tuple[Callable[..., Any], tuple[Any, ...]]


@dataclass
class Cluster:
    """The machines of a Ray cluster as so many workers.

    device: what tasks that multiply compute on, "cpu" or a torch device; those ask for one GPU each unless it is "cpu".
    """

    ray: Any
    workers: int
    device: str = "cpu"
    _remote: dict[Callable[..., Any], Any] = field(default_factory=dict)

    def put(self, value: Any) -> Any:
        """A reference to a value that tasks on any machine can have, sent there when first needed."""
        return self.ray.put(value)

    def submit(self, work: Callable[..., Any], *arguments: Any, on_device: bool = False) -> Any:
        """A reference to what work(*arguments) returns; references among the arguments stand for their values."""
        if work not in self._remote:
            self._remote[work] = self.ray.remote(work)
        gpus = 1 if on_device and self.device != "cpu" else 0
        task = self._remote[work].options(num_cpus=1, num_gpus=gpus, max_retries=RETRIES)
        return task.remote(*arguments)

    def results(self, calls: Iterable[tuple[Tag, Call]], *, on_device: bool = False) -> Iterator[tuple[Tag, Any]]:
        """The tag and the result of each call (work, arguments), in the order in which they end.

        Calls are taken from the iterable as others end, so that neither tasks nor results pile up.
        """
        waiting: dict[Any, Tag] = {}
        coming = iter(calls)
        try:
            while True:
                while len(waiting) < WAITING * self.workers:
                    following = next(coming, None)
                    if following is None:
                        break
                    tag, (work, arguments) = following
                    waiting[self.submit(work, *arguments, on_device=on_device)] = tag
                if not waiting:
                    return
                done, _ = self.ray.wait(list(waiting), num_returns=1)
                for reference in done:
                    yield waiting.pop(reference), self.ray.get(reference)
        except self.ray.exceptions.RayTaskError as error:
            if UNKNOWN not in str(error):
                raise  # an error of the work itself, which is also of its own kind
            raise VeclinkError(
                f"A node of the Ray cluster cannot import veclink {__version__}; install that version on every node."
            ) from error
        except self.ray.exceptions.RayError as error:
            reason = str(error).strip().partition("\n")[0].rstrip(".")
            raise VeclinkError(f"The Ray cluster could not finish a task: {reason}.") from error
        finally:
            for reference in waiting:
                self.ray.cancel(reference)


@contextmanager
def connected(address: str, device: str = "auto") -> Iterator[Cluster]:
    """The cluster at an address ("host:port", or "auto" for the one this machine is part of), for as long as wanted.

    device: "auto" computes on the cluster's GPUs where it has any; "cpu" and "cuda" say which. GPUs that are named are
    those of this machine; a cluster gives each task one of its own.
    """
    ray = needed("ray", "Linking on a cluster", "veclink[ray]")
    ours = not ray.is_initialized()
    if ours:
        _check_reachable(address)
        try:
            ray.init(address=address, log_to_driver=False, logging_level="error", configure_logging=False)
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise _unreachable(address) from error
    else:
        current = ray.get_runtime_context().gcs_address
        if address not in ("auto", current):
            raise InputError(
                f"This process is connected to the Ray cluster at {current!r} already, so {address!r} cannot be used; "
                "call ray.shutdown() first, or give 'auto'."
            )
    try:
        yield _with_device(ray, device)
    finally:
        if ours:
            ray.shutdown()


def _check_reachable(address: str) -> None:
    """Refuse an address at which nothing answers: Ray would try for many minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if address == "auto":
        return
    if not host or not port.isdigit():
        raise InputError(f"The cluster {address!r} is neither 'auto' nor an address such as '10.0.0.1:6379'.")
    try:
        socket.create_connection((host, int(port)), timeout=ANSWER).close()
    except (OSError, OverflowError) as error:
        raise _unreachable(address) from error


def _unreachable(address: str) -> InputError:
    return InputError(
        f"There is no Ray cluster to connect to at {address!r}; start one with 'ray start --head', or give the address "
        "that this printed."
    )


def _with_device(ray: Any, device: str) -> Cluster:
    there = ray.cluster_resources()
    cpus, gpus = int(there.get("CPU", 0)), int(there.get("GPU", 0))
    if device.startswith("cuda") and not gpus:
        raise InputError(f"The device {device!r} was given, and the Ray cluster has 0 GPUs; use 'auto' or 'cpu'.")
    if not cpus:
        raise InputError("The Ray cluster has 0 CPUs for tasks; add a node with some.")
    if device == "cpu" or not gpus:
        return Cluster(ray, cpus)
    return Cluster(ray, gpus, "cuda")
