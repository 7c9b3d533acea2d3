"""Reads the samples of a directory once for each line of input, and answers with the bytes that it read."""

import glob
import os
import sys

KIND, DIRECTORY, SAMPLE_BYTES, BATCH, BUFFER, WORKERS = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])


def torch_rounds():
    import torch
    from torch.utils.data import DataLoader, Dataset

    class Shards(Dataset):
        def __init__(self):
            self.paths = sorted(glob.glob(DIRECTORY + "/*.raw"))
            self.each = os.path.getsize(self.paths[0]) // SAMPLE_BYTES
            self.files = {}

        def __len__(self):
            return self.each * len(self.paths)

        def __getitem__(self, i):
            shard, record = divmod(i, self.each)
            if shard not in self.files:
                self.files[shard] = os.open(self.paths[shard], os.O_RDONLY)
            return os.pread(self.files[shard], SAMPLE_BYTES, record * SAMPLE_BYTES)

    loader = DataLoader(
        Shards(), BATCH, shuffle=True, num_workers=WORKERS, collate_fn=list, persistent_workers=WORKERS > 0
    )
    return lambda: iter(loader), lambda batch: sum(len(sample) for sample in batch)


def tf_rounds():
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow as tf

    files = sorted(glob.glob(DIRECTORY + "/*.tfrecord"))
    data = tf.data.Dataset.from_tensor_slices(files).shuffle(len(files))
    data = data.interleave(tf.data.TFRecordDataset, cycle_length=WORKERS, num_parallel_calls=WORKERS)
    data = data.shuffle(BUFFER).batch(BATCH).prefetch(2)
    return lambda: iter(data), lambda batch: int(tf.reduce_sum(tf.strings.length(batch)))


def wds_rounds():
    import webdataset as wds

    files = sorted(glob.glob(DIRECTORY + "/*.tar"))
    data = wds.WebDataset(files, shardshuffle=len(files)).shuffle(BUFFER).to_tuple("bin").batched(BATCH, collation_fn=list)
    loader = wds.WebLoader(data, batch_size=None, num_workers=WORKERS, persistent_workers=WORKERS > 0)
    return lambda: iter(loader), lambda batch: sum(len(sample[0]) for sample in batch)


begin, size_of = {"torch": torch_rounds, "tf": tf_rounds, "wds": wds_rounds}[KIND]()
for _ in sys.stdin:
    epoch = begin()
    print(sum(size_of(batch) for batch in epoch), flush=True)
    # Its end in tf.data waits for the thread that tunes, which sleeps for 10, 20, 40 ms and so on: that is no reading.
    epoch = None
