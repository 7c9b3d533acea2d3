"""Tar files by webdataset and by Python's tarfile, with the samples in them as webdataset reads them."""

import gzip
import io
import json
import tarfile
from pathlib import Path

import webdataset


def samples_of(file: Path) -> list:
    """What webdataset reads, each part as hex."""
    samples = webdataset.WebDataset(str(file), shardshuffle=False, empty_check=False)
    return [
        {"name": one["__key__"], "parts": {k: v.hex() for k, v in one.items() if not k.startswith("__")}} for one in samples
    ]


def add(tar: tarfile.TarFile, name: str, content: bytes = b"", **about) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(content)
    for key, value in about.items():
        setattr(member, key, value)
    tar.addfile(member, io.BytesIO(content))


LONG = "directory-" + "x" * 60 + "/" + "y" * 70 + "/" + "z" * 120


def write_members(tar: tarfile.TarFile) -> None:
    add(tar, "train", type=tarfile.DIRTYPE)
    add(tar, "train/a.jpg", bytes(range(60)) * 10)
    add(tar, "train/a.seg.PNG", b"\x89PNG")
    add(tar, "__meta__", b"not a sample")
    add(tar, "train/a.cls", b"7")
    add(tar, "train/b.jpg", bytes(512))
    add(tar, "train/link.jpg", type=tarfile.SYMTYPE, linkname="a.jpg")
    add(tar, "README", b"no dot")
    add(tar, "train/b.cls", b"")
    add(tar, "__info__/c.jpg", b"not a sample either")
    add(tar, f"{LONG}.jpg", b"long")
    add(tar, f"{LONG}.cls", b"name")
    add(tar, "größe/ü.txt", "ä".encode())
    add(tar, "dir.with.dots/d.e.f.json", b"{}")
    add(tar, "train/a.jpg", b"a name that comes again")


def make(directory: Path) -> None:
    plain = directory / "writer.tar"
    with webdataset.TarWriter(str(plain), mtime=0, user="user", group="group") as writer:
        for i in range(3):
            writer.write({"__key__": f"sample{i:04}", "txt": f"text {i}", "cls": i, "npy.bin": bytes(range(200 * i % 256))})
    with gzip.GzipFile(directory / "writer.tar.gz", "wb", mtime=0) as file:
        file.write(plain.read_bytes())
    formats = {"ustar": tarfile.USTAR_FORMAT, "gnu": tarfile.GNU_FORMAT, "pax": tarfile.PAX_FORMAT}
    for name, format in formats.items():
        headers = {"comment": "of all members"} if name == "pax" else None
        with tarfile.open(directory / f"{name}.tar", "w", format=format, pax_headers=headers) as tar:
            if name == "ustar":
                tar.addfile = without_long_names(tar.addfile)
            write_members(tar)
    content = {file.name: samples_of(file) for file in sorted(directory.glob("*.tar*"))}
    (directory / "content.json").write_text(json.dumps(content, indent=1) + "\n")


def without_long_names(addfile):
    """ustar has no place for names as long as those."""
    return lambda member, file: None if "zzz" in member.name else addfile(member, file)
