"""The aws command line."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from common import BUCKET, LARGE, MISSING, PARTS, digest, main


def aws(*arguments):
    command = [sys.executable, "-m", "awscli", *arguments]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def output_of(*arguments):
    done = aws(*arguments)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.decode())
    return done.stdout


def error_of(*arguments):
    done = aws(*arguments)
    return done.stderr.decode().strip() if done.returncode != 0 else None


def listed():
    return json.loads(output_of("s3api", "list-objects-v2", "--bucket", BUCKET, "--page-size", "20"))["Contents"]


def synced():
    """Which files `sync` makes, and whether it has nothing to do the second time."""
    with tempfile.TemporaryDirectory() as directory:
        sync = ["s3", "sync", "--no-progress", "--size-only", f"s3://{BUCKET}/images", directory]
        output_of(*sync)
        files = [path for path in Path(directory).rglob("*") if path.is_file()]
        found = {str(path.relative_to(directory)): digest(path.read_bytes()) for path in files}
        return [found, output_of(*sync).decode()]


def part():
    start, length = PARTS[2]
    with tempfile.NamedTemporaryFile() as file:
        asked = ["--range", f"bytes={start}-{start + length - 1}"]
        output_of("s3api", "get-object", "--bucket", BUCKET, "--key", LARGE, *asked, file.name)
        return digest(file.read())


main(
    keys=lambda: [one["Key"] for one in listed()],
    names=lambda: [line.split(maxsplit=3)[3] for line in output_of("s3", "ls", "--recursive", BUCKET).decode().splitlines()],
    large=lambda: digest(output_of("s3", "cp", f"s3://{BUCKET}/{LARGE}", "-")),
    synced=synced,
    part=part,
    missing=lambda: error_of("s3", "cp", f"s3://{BUCKET}/{MISSING}", "-"),
    write=lambda: error_of("s3", "cp", __file__, f"s3://{BUCKET}/written"),
)
