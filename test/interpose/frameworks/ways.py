"""Ways of reading files by a framework, each with files of its own.

usage: SCRIPT make DIRECTORY
       SCRIPT read DIRECTORY < names of ways, one a line
`make` writes the files of every way. `read` answers each line with a digest of what was read that way.
"""

import hashlib
import os
import sys

import numpy as np

RANDOM = np.random.default_rng(1)


def main(ways):
    """Runs a script over WAYS: the name of each, a function that makes files in a directory, one that reads them."""
    command, root = sys.argv[1:]
    if command == "make":
        for name, (make, _) in ways.items():
            directory = directory_of(root, name)
            os.makedirs(directory)
            make(directory)
    else:
        for line in sys.stdin:
            _, read = ways[line.strip()]
            print(digest(read(directory_of(root, line.strip()))), flush=True)


def directory_of(root, name):
    return os.path.join(root, "".join(c if c.isalnum() else "-" for c in name))


def digest(values):
    sha = hashlib.sha256()
    for value in values:
        for part in parts(value):
            sha.update(part)
    return sha.hexdigest()


def parts(value):
    """What was read, as bytes."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        yield bytes(value)
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from parts(one)
    elif isinstance(value, dict):
        for key in sorted(value):
            yield from parts((key, value[key]))
    elif hasattr(value, "__array__"):
        array = np.asarray(value)
        yield f"{array.dtype} {array.shape} ".encode()
        # Arrays of objects, such as strings of TensorFlow, hold addresses.
        yield from parts(array.tolist()) if array.dtype == object else [array.tobytes()]
    else:
        yield f"{value!r} ".encode()


def write(directory, name, content):
    path = os.path.join(directory, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)


def files(directory, end=""):
    """The paths of all files, in order."""
    found = (os.path.join(above, name) for above, _, names in os.walk(directory) for name in names)
    return sorted(path for path in found if path.endswith(end))


def make_images(directory, endings=("jpg", "png"), count=8):
    """Images in a directory for each of two classes."""
    from PIL import Image

    for i in range(count):
        path = os.path.join(directory, "ab"[i % 2], f"{i}.{endings[i % len(endings)]}")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        Image.fromarray(RANDOM.integers(0, 256, (40 + i, 50, 3), np.uint8)).save(path)
