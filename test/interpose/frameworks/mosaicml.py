"""MosaicML Streaming from a local directory. See ways.py."""

import numpy as np
from streaming import MDSWriter, StreamingDataset
from streaming.base.util import clean_stale_shared_memory
from ways import RANDOM, main


def shards(compression=None):
    def make(directory):
        columns = {"x": "ndarray:float32:100", "label": "int"}
        with MDSWriter(out=directory, columns=columns, compression=compression, size_limit=1 << 15) as out:
            for i in range(200):
                out.write({"x": RANDOM.random(100).astype(np.float32), "label": i})

    return make


def read(directory):
    clean_stale_shared_memory()
    dataset = StreamingDataset(local=directory, shuffle=False, batch_size=1)
    return (dataset[i] for i in range(len(dataset)))


main({"StreamingDataset": (shards(), read)})
