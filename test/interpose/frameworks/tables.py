"""pandas, pyarrow, Hugging Face datasets, webdataset and Pillow. See ways.py."""

import io
import os
import tarfile

import datasets
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet
import webdataset
from PIL import Image
from ways import RANDOM, files, main, make_images

FRAME = pd.DataFrame({"x": RANDOM.random(5000), "text": [f"row {i}" for i in range(5000)]})
TABLE = pa.Table.from_pandas(FRAME)


def three(end, save):
    """Makes three files."""

    def make(directory):
        for i in range(3):
            save(os.path.join(directory, f"{i}.{end}"))

    return make


def each(read):
    """Reads all files, as columns."""
    return lambda directory: (columns(read(path)) for path in files(directory))


def columns(table):
    if isinstance(table, pd.DataFrame):
        table = pa.Table.from_pandas(table)
    return table.to_pydict()


def read_mapped(path):
    with pa.memory_map(path) as file:
        return pa.ipc.open_file(file).read_all()


def write_ipc(path):
    with pa.ipc.new_file(path, TABLE.schema) as writer:
        writer.write_table(TABLE)


def make_shard(path):
    with tarfile.open(path, "w") as tar:
        for i in range(20):
            for name, content in ((f"{i:03}.bin", RANDOM.bytes(3000)), (f"{i:03}.cls", b"%d" % i)):
                info = tarfile.TarInfo(name)
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))


def read_shards(directory):
    shards = os.path.join(directory, "{0..2}.tar")
    return webdataset.WebDataset(shards, shardshuffle=False).to_tuple("bin", "cls")


def save_dataset(directory):
    features = datasets.Dataset.from_pandas(FRAME)
    features.save_to_disk(os.path.join(directory, "saved"), num_shards=3)


def read_dataset(directory):
    loaded = datasets.load_from_disk(os.path.join(directory, "saved"))
    yield loaded[10:3000]
    yield loaded.with_format("numpy")["x"]


parquet = three("parquet", lambda path: FRAME.to_parquet(path))
main(
    {
        "pandas read_csv": (three("csv", lambda path: FRAME.to_csv(path)), each(pd.read_csv)),
        "pandas read_parquet": (parquet, each(pd.read_parquet)),
        "pyarrow parquet": (parquet, each(pa.parquet.read_table)),
        "pyarrow parquet memory_map": (
            parquet,
            each(lambda path: pa.parquet.read_table(path, memory_map=True)),
        ),
        "pyarrow dataset": (
            parquet,
            lambda directory: [columns(pa.dataset.dataset(files(directory)).to_table())],
        ),
        "pyarrow feather": (
            three("feather", lambda path: pa.feather.write_feather(TABLE, path)),
            each(pa.feather.read_table),
        ),
        "pyarrow memory_map": (three("arrow", write_ipc), each(read_mapped)),
        "datasets load_from_disk": (save_dataset, read_dataset),
        "webdataset": (three("tar", make_shard), read_shards),
        "Pillow": (
            make_images,
            lambda directory: (np.asarray(Image.open(path)) for path in files(directory)),
        ),
    }
)
