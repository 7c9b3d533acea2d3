"""NumPy, h5py and Python's own ways to read. See ways.py."""

import mmap
import os
import shutil
import tempfile

import h5py
import numpy as np
from ways import RANDOM, files, main, write

VALUES = RANDOM.random((300, 40))


def of(name, save):
    """Makes one file."""
    return lambda directory: save(os.path.join(directory, name))


def each(read):
    """Reads all files, one after the other."""
    return lambda directory: (read(path) for path in files(directory))


def raw(directory):
    for i in range(3):
        write(directory, f"{i}.bin", RANDOM.bytes(200_000 + i))


def hdf5(path):
    with h5py.File(path, "w") as file:
        file.create_dataset("whole", data=VALUES)
        file.create_dataset("chunked", data=VALUES, chunks=(30, 40), compression="gzip")


def read_hdf5(path):
    with h5py.File(path) as file:
        return [file["whole"][...], file["chunked"][7:90]]


def read_npz(path):
    with np.load(path) as arrays:
        return [arrays["x"], arrays["y"]]


def read_open(path):
    with open(path, "rb") as file:
        return file.read()


def read_map(path):
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        return bytes(mapped)


def read_at(path):
    file = os.open(path, os.O_RDONLY)
    try:
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)
        return [os.pread(file, 1000, at) for at in (150_000, 0, 199_999)]
    finally:
        os.close(file)


def read_copy(path):
    with tempfile.TemporaryDirectory() as directory:
        return read_open(shutil.copyfile(path, os.path.join(directory, "copy")))


main(
    {
        "numpy load": (of("x.npy", lambda path: np.save(path, VALUES)), each(np.load)),
        "numpy load mmap_mode": (
            of("x.npy", lambda path: np.save(path, VALUES)),
            each(lambda path: np.load(path, mmap_mode="r")),
        ),
        "numpy load npz": (of("x.npz", lambda path: np.savez(path, x=VALUES, y=VALUES[:3])), each(read_npz)),
        "numpy fromfile": (raw, each(lambda path: np.fromfile(path, np.uint8))),
        "numpy memmap": (raw, each(lambda path: np.memmap(path, np.uint8, "r"))),
        "h5py": (of("x.h5", hdf5), each(read_hdf5)),
        "open": (raw, each(read_open)),
        "mmap": (raw, each(read_map)),
        "os.pread": (raw, each(read_at)),
        "shutil.copyfile": (raw, each(read_copy)),
    }
)
