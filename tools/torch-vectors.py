"""Prints, as JSON, what a real PyTorch draws: the vectors that the samplers are tested against. See CONTRIBUTING.md."""

import hashlib
import itertools
import json
import struct

import torch
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    RandomSampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)
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


EPOCHS = 3


def epochs_of(sampler_of, seed, base_seed, generator):
    """What the sampler gives in some epochs, read as it is, or by a DataLoader."""
    own = torch.Generator().manual_seed(seed) if generator == "own" else None
    sampler = sampler_of(own)
    torch.manual_seed(seed)
    if base_seed == "never":
        return [sample for _ in range(EPOCHS) for sample in sampler]
    workers = {"num_workers": 1, "persistent_workers": True} if base_seed == "once" else {}
    # Of a dataset that gives the number of each sample.
    loader = DataLoader(range(2**24), batch_size=7, sampler=sampler, generator=own, **workers)
    return [sample for _ in range(EPOCHS) for batch in loader for sample in batch.tolist()]


def shuffled(samples, seed):
    """The plainest of all, without a sampler of the caller's."""
    torch.manual_seed(seed)
    loader = DataLoader(range(samples), shuffle=True, batch_size=4)
    return [sample for _ in range(EPOCHS) for batch in loader for sample in batch.tolist()]


def random(samples, length, replacement, generator, base_seed, seed):
    def sampler_of(own):
        return RandomSampler(range(samples), replacement, length, own)

    read = epochs_of(sampler_of, seed, base_seed, generator)
    if length is None and not replacement and (generator, base_seed) == ("global", "every-epoch"):
        assert read == shuffled(samples, seed)
    settings = {"samples": samples, "length": length or samples, "replacement": replacement}
    return {**settings, "generator": generator, "baseSeed": base_seed, "seed": seed, **written(read)}


def weights(samples):
    """Also some that are 0. The tests compute the same."""
    return [i * 7919 % 101 / 10 for i in range(1, samples + 1)]


def weighted(samples, length, replacement, generator, base_seed, seed):
    def sampler_of(own):
        return WeightedRandomSampler(weights(samples), length, replacement, own)

    settings = {"weights": samples, "length": length, "replacement": replacement, "baseSeed": base_seed}
    return {**settings, "seed": seed, **written(epochs_of(sampler_of, seed, base_seed, generator))}


def indices(count):
    """In no order, and some of them twice. The tests compute the same."""
    return [i * 7919 % 1009 for i in range(1, count + 1)]


def subset(count, generator, base_seed, seed):
    def sampler_of(own):
        return SubsetRandomSampler(indices(count), own)

    settings = {"indices": count, "baseSeed": base_seed, "seed": seed}
    return {**settings, **written(epochs_of(sampler_of, seed, base_seed, generator))}


def batches(samples, batch_size, drop_last):
    settings = {"samples": samples, "batchSize": batch_size, "dropLast": drop_last}
    return {**settings, "batches": list(BatchSampler(SequentialSampler(range(samples)), batch_size, drop_last))}


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
            "random": [
                random(*settings)
                for settings in [
                    *itertools.product(
                        [1, 3, 100, 1023],
                        [None, 1, 64, 250],
                        [True, False],
                        ["global", "own"],
                        ["every-epoch", "never"],
                        [0, 2**53 - 1],
                    ),
                    # Each starts processes.
                    (100, None, False, "global", "once", 42),
                    (100, None, False, "own", "once", 42),
                ]
            ],
            "weighted": [
                weighted(*settings)
                for settings in [
                    *itertools.product(
                        [16, 1_000],
                        [2, 10, 15, 900],
                        [True, False],
                        ["global", "own"],
                        ["every-epoch", "never"],
                        [0, 2**53 - 1],
                    ),
                    (30_000, 29_000, True, "global", "every-epoch", 42),
                    (30_000, 29_000, False, "global", "every-epoch", 42),
                ]
                if settings[2] or settings[1] < settings[0]
            ],
            "subset": [
                subset(*settings)
                for settings in [
                    *itertools.product(
                        [1, 5, 100, 1_500],
                        ["global", "own"],
                        ["every-epoch", "never"],
                        [0, 42, 2**53 - 1],
                    ),
                    # Starts processes.
                    (100, "global", "once", 42),
                ]
            ],
            "batches": [batches(*settings) for settings in itertools.product([0, 1, 10, 12], [1, 4, 20], [True, False])],
        }
    )
)
