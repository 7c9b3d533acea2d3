"""rclone, whose program is in RCLONE, or in the PATH."""

import os
import subprocess
import tempfile
from pathlib import Path

from common import BUCKET, ENDPOINT, digest, main, parts, wholes

REMOTE = f":s3,provider=Other,env_auth,force_path_style,endpoint='{ENDPOINT}':{BUCKET}"


def rclone(*arguments):
    command = [os.environ.get("RCLONE", "rclone"), *arguments]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def output_of(*arguments):
    done = rclone(*arguments)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.decode())
    return done.stdout


def error_of(*arguments):
    done = rclone(*arguments)
    return done.stderr.decode().strip() if done.returncode != 0 else None


def listed(field):
    lines = output_of("lsf", "--recursive", "--files-only", "--format", field, REMOTE).decode().splitlines()
    return sorted(lines, key=str.encode)


def read_part(key, start, length):
    return output_of("cat", "--offset", str(start), "--count", str(length), f"{REMOTE}/{key}")


def synced():
    with tempfile.TemporaryDirectory() as directory:
        sync = ["sync", "-v", "--size-only", f"{REMOTE}/images", directory]
        output_of(*sync)
        files = [path for path in Path(directory).rglob("*") if path.is_file()]
        found = {str(path.relative_to(directory)): digest(path.read_bytes()) for path in files}
        return [found, output_of(*sync).decode()]


main(
    keys=lambda: listed("p"),
    wholes=lambda: wholes(lambda key: output_of("cat", f"{REMOTE}/{key}")),
    parts=lambda: parts(read_part),
    synced=synced,
    write=lambda: error_of("copyto", "--retries", "1", __file__, f"{REMOTE}/written"),
)
