"""An ordinary training in PyTorch. It reads files of a directory, and knows nothing of tiers.

usage: train.py DIRECTORY SEED EPOCHS
A file has digits of 785 bytes: what it is, and 28 x 28 pixels. Prints a line of JSON after each epoch.
"""
import hashlib
import json
import os
import sys
import time

import numpy
import torch
from torch.utils.data import DataLoader, Dataset

BATCH = 240


class Shards(Dataset):
    def __init__(self, directory):
        self.paths = sorted(os.path.join(directory, name) for name in os.listdir(directory))

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        digits = numpy.fromfile(self.paths[index], numpy.uint8).reshape(-1, 785)
        return index, digits[:, 0].astype(numpy.int64), digits[:, 1:].astype(numpy.float32) / 255


def main(directory, seed, epochs):
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    model = torch.nn.Sequential(torch.nn.Linear(784, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    order = hashlib.sha256()
    loader = DataLoader(
        Shards(directory), batch_size=None, shuffle=True, num_workers=1, prefetch_factor=8, persistent_workers=True
    )
    for epoch in range(epochs):
        start, waited, digits, right = time.perf_counter(), 0.0, 0, 0
        asked = start
        for index, labels, images in loader:
            waited += time.perf_counter() - asked
            order.update(b"%d " % index)
            for first in range(0, len(labels), BATCH):
                wanted = labels[first : first + BATCH]
                guessed = model(images[first : first + BATCH])
                optimizer.zero_grad()
                torch.nn.functional.cross_entropy(guessed, wanted).backward()
                optimizer.step()
                right += int((guessed.argmax(1) == wanted).sum())
            digits += len(labels)
            asked = time.perf_counter()
        seconds = time.perf_counter() - start
        line = {"seconds": seconds, "waited": waited, "digits": digits, "accuracy": right / digits}
        print(json.dumps({**line, "order": order.hexdigest()}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
