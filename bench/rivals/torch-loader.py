"""Reads files by PyTorch's DataLoader, which gives their bytes as they are.

usage: torch-loader.py WORKERS LIST < a line for each round. LIST has a path a line.
Answers each with a line when it has been done: the bytes that were read.
"""

import sys

from torch.utils.data import DataLoader, Dataset


class Files(Dataset):
    def __init__(self, paths):
        self.paths = paths

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        with open(self.paths[index], "rb") as file:
            return file.read()


workers, name = int(sys.argv[1]), sys.argv[2]
with open(name) as lines:
    paths = lines.read().splitlines()
loader = DataLoader(Files(paths), batch_size=None, num_workers=workers, persistent_workers=workers > 0)
for _ in sys.stdin:
    print(sum(len(sample) for sample in loader), flush=True)
