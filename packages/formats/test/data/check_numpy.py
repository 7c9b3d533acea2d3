"""What encodeNpy wrote is what NumPy reads, byte for byte as it would write it."""

import io
from pathlib import Path

import numpy as np

NUMBERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64"]


def check(directory: Path) -> None:
    arrays = {name: np.arange(6, dtype=name).reshape(3, 2) for name in NUMBERS}
    arrays["bool"] = np.array([[False, True]] * 3)
    arrays["labels"] = np.arange(6, dtype=np.int64)
    arrays["scalar"] = np.array(0.5)
    for name, array in arrays.items():
        file = directory / f"{name}.npy"
        loaded = np.load(file)
        assert loaded.dtype == array.dtype and loaded.shape == array.shape and (loaded == array).all(), name
        same = io.BytesIO()
        np.save(same, array)
        assert file.read_bytes() == same.getvalue(), name
