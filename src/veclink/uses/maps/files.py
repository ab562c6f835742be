"""The arrays of a fitted map in a .safetensors file, with what is to be said of it as JSON in the header."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from veclink.errors import InputError
from veclink.files.atomic import written_whole
from veclink.files.safetensors import read_header, read_tensor, write_tensors

KEY = "veclink"


def write_arrays(path: str | Path, arrays: Mapping[str, np.ndarray], told: Mapping[str, Any]) -> None:
    """Save arrays as float32, and a JSON object, whole or not at all."""
    path = Path(path)
    if path.suffix.lower() != ".safetensors":
        raise InputError(f"{path} does not end in .safetensors; translators are saved as that.")
    tensors = {name: array.astype(np.float32, copy=False) for name, array in arrays.items()}
    with written_whole(path) as temporary:
        write_tensors(temporary, tensors, {KEY: json.dumps(dict(told))})


def read_arrays(path: str | Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The arrays and the JSON object that `write_arrays` saved."""
    path = Path(path)
    try:
        tensors, metadata = read_header(path)
        told = json.loads(metadata[KEY])
        arrays = {name: np.array(read_tensor(path, entry)) for name, entry in tensors.items()}
    except InputError:
        raise
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); check the name.") from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError) as error:
        raise InputError(f"{path} is not a translator that was saved here ({error!r}); save it again.") from error
    if not isinstance(told, dict) or any(array.dtype != np.float32 for array in arrays.values()):
        raise InputError(f"{path} is not a translator that was saved here; save it again.")
    return arrays, told
