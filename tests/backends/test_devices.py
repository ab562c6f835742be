"""Which device a name stands for."""

from __future__ import annotations

import pytest

from veclink.backends import chosen_device
from veclink.errors import InputError


@pytest.mark.parametrize("name", ["cpu", "cuda", "cuda:0", "cuda:12"])
def test_a_device_that_is_named_is_that_one(name: str) -> None:
    assert chosen_device(name) == name


@pytest.mark.parametrize("name", ["", "tpu", "cuda:", "cuda:x", "cuda:0,cuda:1", "cuda:all"])
def test_other_names_are_refused_with_those_that_there_are(name: str) -> None:
    with pytest.raises(InputError, match=r"is unknown; it is one of 'auto', 'cpu', 'cuda', or one GPU as in"):
        chosen_device(name)


@pytest.mark.extras
def test_a_gpu_beyond_those_that_there_are_is_refused_with_their_number(monkeypatch: pytest.MonkeyPatch) -> None:
    from veclink.matching.torch_backend import torch_device

    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    assert str(torch_device("cuda:1")) == "cuda:1"
    with pytest.raises(InputError, match=r"'cuda:2' is not available here: torch counts 2 CUDA devices"):
        torch_device("cuda:2")
