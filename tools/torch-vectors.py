"""Prints, as JSON, what a real PyTorch draws: the vectors that the samplers are tested against. See CONTRIBUTING.md."""

import hashlib
import itertools
import json
import struct

import torch
from torch.utils.data.distributed import DistributedSampler

# Up to here the numbers are written out, so that a failure can be read.
SHORT = 16


def written(numbers):
    """Numbers as they are if they are few, else the SHA-256 of them as 32-bit little-endian words."""
    if len(numbers) <= SHORT:
        return {"numbers": numbers}
    return {"sha256": hashlib.sha256(struct.pack(f"<{len(numbers)}I", *numbers)).hexdigest()}


def randperm(n, seed):
    order = torch.randperm(n, generator=torch.Generator().manual_seed(seed))
    return {"n": n, "seed": seed, **written(order.tolist())}


def distributed(samples, replicas, shuffle, drop_last, seed, epoch):
    """What all ranks read in one epoch, rank 0 first."""
    numbers = []
    for rank in range(replicas):
        sampler = DistributedSampler(range(samples), replicas, rank, shuffle, seed, drop_last)
        sampler.set_epoch(epoch)
        numbers += list(sampler)
    settings = {"samples": samples, "workers": replicas, "shuffle": shuffle, "dropLast": drop_last}
    return {**settings, "seed": seed, "epoch": epoch, **written(numbers)}


SEEDS = [0, 1, 42, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**32 + 42, 2**53 - 1]
# Around the block of 624 numbers that MT19937 makes at once, and around powers of two.
LENGTHS = [0, 1, 2, 3, 10, 16, 100, 623, 624, 625, 1024, 1025, 1249, 2049, 65_537]
# ImageNet-1k and ImageNet-22k.
LONG = [(1_281_167, 7), (14_197_122, 12345)]

print(
    json.dumps(
        {
            "torch": torch.__version__,
            "randperm": [randperm(n, seed) for n, seed in [*itertools.product(LENGTHS, SEEDS), *LONG]],
            "distributed": [
                distributed(*settings)
                for settings in itertools.product(
                    [0, 1, 3, 7, 16, 100, 1023],
                    [1, 2, 3, 8, 17],
                    [True, False],
                    [True, False],
                    [0, 12345],
                    [0, 5],
                )
                # Without shuffling, seeds and epochs make no difference; one of each shows it.
                if settings[2] or settings[4:] in [(0, 0), (12345, 5)]
            ],
        }
    )
)
