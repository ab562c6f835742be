"""Arrays in a .safetensors file with JSON in its header: eight bytes of length, the header, the numbers as they are.

Written here with numpy alone: nothing in such a file is ever executed, and no package is needed to read it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from veclink.errors import InputError
from veclink.files.atomic import written_whole

KEY = "veclink"


def write_arrays(path: str | Path, arrays: Mapping[str, np.ndarray], told: Mapping[str, Any]) -> None:
    """Save float32 arrays and a JSON object, whole or not at all."""
    path = Path(path)
    if path.suffix.lower() != ".safetensors":
        raise InputError(f"{path} does not end in .safetensors; translators are saved as that.")
    header: dict[str, Any] = {"__metadata__": {KEY: json.dumps(dict(told))}}
    start = 0
    for name, array in arrays.items():
        size = 4 * array.size
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [start, start + size]}
        start += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)  # the numbers begin at a multiple of eight
    with written_whole(path) as temporary, temporary.open("wb") as file:
        file.write(len(text).to_bytes(8, "little"))
        file.write(text)
        for array in arrays.values():
            file.write(np.ascontiguousarray(array, "<f4").data)


def read_arrays(path: str | Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The arrays and the JSON object that `write_arrays` saved."""
    path = Path(path)
    try:
        raw = path.read_bytes()
        length = int.from_bytes(raw[:8], "little")
        header = json.loads(raw[8 : 8 + length])
        told = json.loads(header.pop("__metadata__")[KEY])
        arrays = {}
        for name, entry in header.items():
            begin, end = (8 + length + place for place in entry["data_offsets"])
            if entry["dtype"] != "F32" or end > len(raw):
                raise InputError(f"{path} was cut off or holds {entry['dtype']}; save the translator again.")
            arrays[name] = np.frombuffer(raw[begin:end], "<f4").reshape(entry["shape"])
    except InputError:
        raise
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); check the name.") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path} is not a translator that was saved here ({error!r}); save it again.") from error
    if not isinstance(told, dict):
        raise InputError(f"{path} is not a translator that was saved here; save it again.")
    return arrays, told
