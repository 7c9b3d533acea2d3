"""Reads files as one rank of a training, by PyTorch's DistributedSampler, without any knowledge of tiers.

distributed.py DIRECTORY RANK RANKS SEED EPOCHS: waits for a line before each epoch, and then prints the digest of
each file that it reads, and "end EPOCH".
"""

import hashlib
import os
import sys

from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler


class Files(Dataset):
    def __init__(self, directory):
        found = (os.path.join(above, name) for above, _, names in os.walk(directory) for name in names)
        self.files = sorted(found)
        self.directory = directory

    def __len__(self):
        return len(self.files)

    def __getitem__(self, number):
        with open(self.files[number], "rb") as file:
            digest = hashlib.sha256(file.read()).hexdigest()
        return os.path.relpath(self.files[number], self.directory) + " " + digest


def main(directory, rank, ranks, seed, epochs):
    files = Files(directory)
    sampler = DistributedSampler(files, num_replicas=int(ranks), rank=int(rank), seed=int(seed))
    loader = DataLoader(files, batch_size=4, sampler=sampler, num_workers=0)
    for epoch in range(int(epochs)):
        sys.stdin.readline()
        sampler.set_epoch(epoch)
        for batch in loader:
            print("\n".join(batch))
        print("end", epoch, flush=True)


main(*sys.argv[1:])
