"""Arrays by NumPy, with their rows as it reads them: dtype, shape, and the elements in hex.

float16 is there as float32, and all is little-endian, as the package has them in memory.
"""

import io
import json
import zipfile
from pathlib import Path

import numpy as np

DTYPES = ["?", "i1", "u1", "<i2", ">u2", "<i4", ">u4", "<i8", ">u8", "<f2", ">f2", "<f4", ">f4", "<f8", ">f8"]


def values(dtype: str, *shape: int) -> np.ndarray:
    size = int(np.prod(shape))
    return (np.arange(size) * 37 % 251 - (0 if "u" in dtype else 100)).astype(dtype).reshape(shape)


def plain(row: np.ndarray) -> dict:
    row = np.asarray(row)
    kept = row.astype(np.float32) if row.dtype.name == "float16" else row.astype(row.dtype.newbyteorder("<"))
    return {"dtype": row.dtype.name, "shape": list(row.shape), "hex": kept.tobytes().hex()}


def rows_of(file: Path) -> list[dict]:
    array = np.load(file)
    return [plain(row) for row in (array if array.ndim else [array])]


def tables_of(file: Path) -> list[dict]:
    with np.load(file) as arrays:
        loaded = {name: arrays[name] for name in arrays}
    count = len(next(iter(loaded.values())))
    return [{name: plain(array[i]) for name, array in loaded.items()} for i in range(count)]


def write_zip(file: Path, arrays: dict[str, np.ndarray], compression: int) -> None:
    """As numpy.savez does, at a time that is the same each time."""
    with zipfile.ZipFile(file, "w", compression) as output:
        for name, array in arrays.items():
            content = io.BytesIO()
            np.lib.format.write_array(content, array)
            output.writestr(zipfile.ZipInfo(f"{name}.npy"), content.getvalue(), compression)


def make(directory: Path) -> None:
    for dtype in DTYPES:
        name = dtype.replace("?", "bool").replace("<", "little-").replace(">", "big-")
        np.save(directory / f"{name}.npy", values(dtype, 3, 2))
    np.save(directory / "cube.npy", values("<f4", 2, 3, 2))
    np.save(directory / "labels.npy", values("<i8", 5))
    np.save(directory / "scalar.npy", np.float64(0.5))
    np.save(directory / "empty.npy", values("<f4", 0, 3))
    np.save(directory / "thin.npy", values("<f4", 3, 0))
    for version in [(2, 0), (3, 0)]:
        with open(directory / f"version{version[0]}.npy", "wb") as file:
            np.lib.format.write_array(file, values("u1", 4, 1), version)
    np.save(directory / "fortran.npy", np.asfortranarray(values("<f4", 2, 3)))
    for dtype in [">i8", "<f2", "?"]:
        name = dtype.replace("?", "bool").replace("<", "little-").replace(">", "big-")
        np.save(directory / f"fortran-{name}.npy", np.asfortranarray(values(dtype, 4, 2, 3, 5)))
    np.save(directory / "column.npy", np.asfortranarray(values("<f4", 3)))
    np.save(directory / "objects.npy", np.array([{"a": 1}, None]), allow_pickle=True)
    np.save(directory / "texts.npy", np.array(["a", "größe"]))
    np.save(directory / "complex.npy", np.array([1j]))
    np.save(directory / "dates.npy", np.array(["2020-01-01"], "datetime64[D]"))
    np.save(directory / "structures.npy", np.array([(1, 2.0)], [("a", "<i4"), ("b", "<f8")]))
    table = {"image": values("u1", 4, 2, 3), "label": values("<i8", 4), "größe": values(">f4", 4, 2)}
    np.savez(directory / "savez.npz", **table)
    write_zip(directory / "stored.npz", table, zipfile.ZIP_STORED)
    write_zip(directory / "deflated.npz", table, zipfile.ZIP_DEFLATED)
    parts = {"x_train": values("<f4", 3, 2), "y_train": values("u1", 3), "x_test": values("<f4", 1, 2), "y_test": values("u1", 1)}
    write_zip(directory / "parts.npz", parts, zipfile.ZIP_DEFLATED)
    orders = {"c": values("<f4", 3, 2, 4), "f": np.asfortranarray(values("<f4", 3, 2, 4))}
    write_zip(directory / "orders.npz", orders, zipfile.ZIP_DEFLATED)
    write_zip(directory / "axes.npz", {"x": values("u1", 3), "mean": np.float64(0.5)}, zipfile.ZIP_STORED)
    write_zip(directory / "zeros.npz", {"x": np.zeros((10, 10000), np.uint8)}, zipfile.ZIP_DEFLATED)
    refused = {"objects", "texts", "complex", "dates", "structures", "thin"}
    content = {file.name: rows_of(file) for file in sorted(directory.glob("*.npy")) if file.stem not in refused}
    content |= {f"{name}.npz": tables_of(directory / f"{name}.npz") for name in ["savez", "stored", "deflated", "orders"]}
    (directory / "content.json").write_text(json.dumps(content, indent=1) + "\n")
