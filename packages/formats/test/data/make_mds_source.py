"""Directories as MosaicML Streaming writes them: shards and index.json, with hashes, in each compression."""

from pathlib import Path

from streaming_mds import MDSWriter

COMPRESSIONS = {"plain": None, "gz": "gz:9", "zstd": "zstd:3", "br": "br:11", "snappy": "snappy", "bz2": "bz2:9"}
HASHES = ["sha1", "xxh64"]


def make(directory: Path) -> None:
    for name, compression in COMPRESSIONS.items():
        options = {"compression": compression, "hashes": HASHES, "size_limit": 300}
        columns = {"id": "int", "text": "str"}
        with MDSWriter(out=str(directory / name), columns=columns, **options) as writer:
            for i in range(12):
                writer.write({"id": i, "text": f"text {i}"})
