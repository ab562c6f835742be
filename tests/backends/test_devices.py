"""Which devices a name stands for."""

from __future__ import annotations

import pytest

from veclink.backends.devices import chosen_device
from veclink.errors import InputError


@pytest.mark.parametrize("name", ["cpu", "cuda", "cuda:0", "cuda:1", "cuda:0,cuda:1", "cuda:3,cuda:0,cuda:2"])
def test_devices_that_are_named_are_those(name: str) -> None:
    assert chosen_device(name) == name


@pytest.mark.parametrize("name", ["", "tpu", "cuda:", "cuda:x", "cuda:0,", "cuda:0,cpu", "cuda,cuda", "cuda:0, cuda:1"])
def test_other_names_are_refused_with_those_that_there_are(name: str) -> None:
    with pytest.raises(InputError, match=r"is unknown; it is one of 'auto', 'cpu', 'cuda', 'cuda:all', or GPUs as in"):
        chosen_device(name)


@pytest.mark.extras
@pytest.mark.parametrize(("there", "meant"), [(0, "cuda"), (1, "cuda"), (3, "cuda:0,cuda:1,cuda:2")])
def test_all_gpus_are_as_many_as_torch_counts(monkeypatch: pytest.MonkeyPatch, there: int, meant: str) -> None:
    monkeypatch.setattr("torch.cuda.device_count", lambda: there)
    assert chosen_device("cuda:all") == meant


@pytest.mark.extras
def test_a_gpu_beyond_those_that_there_are_is_refused_with_their_number(monkeypatch: pytest.MonkeyPatch) -> None:
    from veclink.matching.torch_backend import torch_devices

    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    assert [str(place) for place in torch_devices("cuda:0,cuda:1")] == ["cuda:0", "cuda:1"]
    with pytest.raises(InputError, match=r"'cuda:2' is not available here: torch counts 2 CUDA devices"):
        torch_devices("cuda:0,cuda:2")
