"""Tar files by GNU tar, with labels, holes and files in another order.

The number of its process is in two of the sparse ones, and differs each time.
"""

import subprocess
import tempfile
from pathlib import Path

import zstd

FIXED = ["--owner=0", "--group=0", "--mode=0644", "--mtime=@0"]
# Otherwise the number of the process and times would be in the file.
PAX = "--pax-option=delete=atime,delete=ctime,exthdr.name=%d/%f"


def tar(file: Path, names: list[str], *options: str, directory: str) -> None:
    fixed = [*FIXED, PAX] if "--format=posix" in options else FIXED
    subprocess.run(["tar", *fixed, *options, "-b", "2", "-cf", file, *names], cwd=directory, check=True)


def make(directory: Path) -> None:
    with tempfile.TemporaryDirectory() as there:
        for name in ["s1", "s2"]:
            Path(there, f"{name}.txt").write_text(f"text of {name}")
            Path(there, f"{name}.cls").write_text(name[1])
        with open(Path(there, "sp.bin"), "wb") as sparse:
            sparse.seek(500_000)
            sparse.write(b"abc")
            sparse.truncate(1_000_000)
        names = ["s1.cls", "s1.txt", "s2.cls", "s2.txt"]
        for format in ["gnu", "posix"]:
            tar(directory / f"label-{format}.tar", names, "-V", "a label.v1", f"--format={format}", directory=there)
        label = directory / "label-posix.tar"
        label.with_suffix(".tar.zst").write_bytes(zstd.compress(label.read_bytes()))
        tar(directory / "apart.tar", ["s1.cls", "s2.cls", "s1.txt", "s2.txt"], "--format=gnu", directory=there)
        for version in ["0.0", "0.1", "1.0"]:
            options = ["-S", "--format=posix", f"--sparse-version={version}"]
            tar(directory / f"sparse-{version}.tar", ["s1.cls", "s1.txt", "sp.bin", "s2.cls"], *options, directory=there)
        tar(directory / "sparse-gnu.tar", ["s1.cls", "s1.txt", "sp.bin", "s2.cls"], "-S", "--format=gnu", directory=there)
