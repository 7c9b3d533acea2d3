"""HDF5 files, written by h5py: Debian's (python3-h5py), or that of requirements.txt."""

import json
from pathlib import Path

import h5py
import numpy as np

ROWS = 400


def numbers(count, shape=()):
    """The numbers that hdf5.test.ts makes anew."""
    n = np.arange(count * int(np.prod(shape, dtype=int)), dtype=np.uint64)
    return ((n * 2654435761 % 2**32) >> 24).astype(np.uint8).reshape(count, *shape)


def rows(path, x, libver="earliest", **options):
    with h5py.File(path, "w", libver=libver) as file:
        file.create_dataset("x", data=x, **options)
        file.create_dataset("y", data=np.arange(len(x), dtype=np.int64))


def values(path):
    content = {}
    with h5py.File(path, "w") as file:
        for order in "<>":
            for kind in ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8"]:
                array = np.array([[0, 1], [100, 3], [7, 90]]).astype(order + kind)
                name = f"numbers/{kind}{'' if order == '<' else '-big'}"
                file.create_dataset(name, data=array)
                content[name] = array.astype(float).tolist()
        file.create_dataset("numbers/bool", data=np.array([[True, False], [False, True], [True, True]]))
        file.create_dataset("texts/fixed", data=np.array([b"a", b"bcd", b""]))
        file.create_dataset("texts/utf8", data=np.array([t.encode() for t in ["ä", "", "日本"]], h5py.string_dtype("utf-8", 8)))
        file.create_dataset("texts/any", data=["ä", "x" * 300, ""], dtype=h5py.string_dtype())
        file.create_dataset("texts/pairs", data=[["a", "b"], ["c", ""], ["", "d"]], dtype=h5py.string_dtype())
        lists = file.create_dataset("lists", 3, dtype=h5py.vlen_dtype(np.uint8))
        for i, length in enumerate([3, 0, 5]):
            lists[i] = np.arange(length, dtype=np.uint8)
        large = file.create_dataset("lists-big", 3, dtype=h5py.vlen_dtype(np.dtype(">i2")))
        for i in range(3):
            large[i] = np.arange(i, dtype=">i2")
        colours = h5py.enum_dtype({"red": 1, "blue": 2}, basetype="i2")
        file.create_dataset("colours", data=np.array([2, 1, 2], "i2"), dtype=colours)
        file.create_dataset("others/compound", data=np.zeros(3, [("a", "i4"), ("b", "f4")]))
        file.create_dataset("others/opaque", data=np.zeros(3, "V4"))
        file.create_dataset("others/reference", data=np.array([file.ref] * 3, h5py.ref_dtype))
        file.create_dataset("others/scalar", data=1.5)
        file.create_dataset("others/shorter", data=np.zeros(2))
        file.create_dataset("others/none", data=h5py.Empty("f4"))
        file.create_dataset("others/empty", shape=(0, 3), dtype="f4")
        file["linked/soft"] = h5py.SoftLink("/numbers/i1")
        file["linked/broken"] = h5py.SoftLink("/nowhere")
        file["linked/external"] = h5py.ExternalLink("other.h5", "/x")
        file["linked/hard"] = file["numbers/i1"]
        file["linked/self"] = file["linked"]
    return content


def groups(path, members):
    with h5py.File(path, "w") as file:
        for i in range(members):
            group = file.create_group(f"data/demo_{i}")
            group.create_dataset("obs/image", data=numbers(100 + i, (8, 8)), compression="gzip", chunks=(50, 8, 8))
            group.create_dataset("actions", data=np.full((3 + i, 2), i, "f4"))
            group.create_dataset("label", data=np.int32(i))
            group.create_dataset("task", data=np.bytes_(f"task {i}"))
        for i in range(3):
            file.create_dataset(f"arrays/{i}", data=np.full(i, i, "u1"))


def make(directory: Path) -> None:
    x = numbers(ROWS, (8, 8))
    chunks = (10, 8, 8)
    rows(directory / "contiguous.h5", x)
    rows(directory / "chunked.h5", x, chunks=(7, 8, 3))
    rows(directory / "gzip.h5", x, chunks=chunks, compression="gzip", shuffle=True)
    rows(directory / "lzf.h5", x, chunks=chunks, compression="lzf", shuffle=True, fletcher32=True)
    rows(directory / "latest.h5", x, libver="latest", chunks=chunks, compression="gzip")
    # Its index has pages: the last one leads to one chunk.
    rows(directory / "pages.h5", numbers(1025, (16,)), libver="latest", chunks=(1, 16), fletcher32=True)
    rows(directory / "growing.h5", x, libver="latest", chunks=chunks, maxshape=(None, 8, 8), compression="gzip")
    rows(directory / "growing2.h5", x, libver="latest", chunks=(9, 8, 8), maxshape=(None, None, 8), compression="gzip")
    with h5py.File(directory / "sparse.h5", "w") as file:
        sparse = file.create_dataset("x", (ROWS, 8, 8), "u1", chunks=chunks, fillvalue=9)
        # Not in the order of the rows.
        sparse[200:390] = x[200:390]
        sparse[20:170] = x[20:170]
    with h5py.File(directory / "two.h5", "w") as file:
        file.create_dataset("images", data=x, chunks=chunks, compression="gzip")
        file.create_dataset("masks", data=x[::-1], chunks=chunks, compression="gzip")
    groups(directory / "groups.h5", 6)
    content = values(directory / "values.h5")
    (directory / "content.json").write_text(json.dumps(content) + "\n")

