"""PyTorch and torchvision. See ways.py."""

import inspect
import os

import torch
from torch.utils.data import DataLoader, Dataset
from ways import RANDOM, files, main, make_images, write

WEIGHTS = {"w": torch.from_numpy(RANDOM.random((200, 50))), "b": torch.arange(1000)}


class Files(Dataset):
    """The bytes of files."""

    def __init__(self, directory):
        self.paths = files(directory)

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        with open(self.paths[index], "rb") as file:
            return file.read()


def raw(directory):
    for i in range(8):
        write(directory, f"{i}.bin", RANDOM.bytes(80_000))


def batches(dataset, workers):
    """An epoch, in which every worker has something to do."""
    return DataLoader(dataset, batch_size=2, num_workers=workers, shuffle=True, generator=torch.manual_seed(7))


def save(**options):
    return lambda directory: torch.save(WEIGHTS, os.path.join(directory, "x.pt"), **options)


def load(**options):
    return lambda directory: (torch.load(path, **options) for path in files(directory))


ways = {
    "torch.load": (save(), load()),
    "torch.load legacy": (save(_use_new_zipfile_serialization=False), load()),
    "torch.from_file": (
        raw,
        lambda directory: (torch.from_file(path, size=80_000, dtype=torch.uint8) for path in files(directory)),
    ),
    "torch.from_file shared": (
        raw,
        lambda directory: (
            torch.from_file(path, shared=True, size=80_000, dtype=torch.uint8) for path in files(directory)
        ),
    ),
    "FloatStorage.from_file": (
        raw,
        lambda directory: (
            torch.FloatTensor().set_(torch.FloatStorage.from_file(path, False, 20_000)) for path in files(directory)
        ),
    ),
}
if "mmap" in inspect.signature(torch.load).parameters:
    ways["torch.load mmap"] = (save(), load(mmap=True))
for workers in (0, 2, 4):
    ways[f"DataLoader of files, {workers} workers"] = (
        raw,
        lambda directory, workers=workers: batches(Files(directory), workers),
    )

try:
    from torchvision import transforms
    from torchvision.datasets import ImageFolder
    from torchvision.io import read_image
except ImportError:
    pass
else:
    DECODED = transforms.Compose([transforms.Resize((32, 32)), transforms.ToTensor()])
    for workers in (0, 2, 4):
        ways[f"ImageFolder, {workers} workers"] = (
            make_images,
            lambda directory, workers=workers: batches(ImageFolder(directory, DECODED), workers),
        )
    ways["torchvision read_image"] = (
        make_images,
        lambda directory: (read_image(path) for path in files(directory)),
    )

main(ways)
