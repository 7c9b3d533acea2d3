"""MDS shards by MosaicML Streaming, with the samples in them as its reader decodes them.

What JSON does not have is written by a name: {"hex": ...} are bytes, {"int": ...} is a bigint, {"float": ...} a number
as Python writes it, {"dtype": ..., "shape": ..., "hex": ...} is an array
(float16 as float32), {"mode": ..., ...} a raw image.
"""

import json
import shutil
import tempfile
from decimal import Decimal
from pathlib import Path

import numpy as np
from PIL import Image
from streaming_mds import MDSReader, MDSWriter

BIG = {"int", "int64", "uint64", "str_int"}


def image(seed: int, mode: str = "RGB", size: tuple[int, int] = (5, 3)) -> Image.Image:
    pixels = bytes((seed + 7 * i) % 256 for i in range(size[0] * size[1] * len(mode)))
    return Image.frombytes(mode, size, pixels)


def ints(names: list[str]) -> tuple[dict, list[dict]]:
    limits = [np.iinfo(name) for name in names]
    samples = [{n: int(v) for n, v in zip(names, values)} for values in [[i.min for i in limits], [i.max for i in limits], [7] * 8]]
    return {name: name for name in names}, samples


def datasets() -> dict[str, tuple[dict, list[dict]]]:
    values = range(3)
    return {
        "texts": (
            {"größe": "str", "data": "bytes", "about": "json", "id": "int"},
            [
                {
                    "größe": ["", "größe \U0001f600", "x" * 300][i],
                    "data": bytes(range(50 * i)),
                    "about": [{"a": [1, 2.5, None]}, "ü", []][i],
                    "id": [0, -(2**63), 2**53 + 1][i],
                }
                for i in values
            ],
        ),
        "numbers": ints(["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]),
        "floats": (
            {"half": "float16", "single": "float32", "double": "float64"},
            [{"half": v, "single": v, "double": v} for v in [0.1, -0.0, 65504.0, 6e-8, float("inf"), float("nan")]],
        ),
        "written": (
            {"i": "str_int", "f": "str_float", "d": "str_decimal"},
            [
                {"i": 10**30, "f": 1e-05, "d": Decimal("0.10")},
                {"i": -7, "f": float("-inf"), "d": Decimal("1E+5")},
                {"i": 0, "f": float("nan"), "d": Decimal("NaN")},
            ],
        ),
        "arrays": (
            {"any": "ndarray", "typed": "ndarray:float32", "fixed": "ndarray:int16:2,3", "half": "ndarray:float16:2"},
            [
                {
                    "any": [np.arange(6, dtype=np.uint64).reshape(1, 6), np.ones((300, 1), np.int8), np.zeros(1, np.float64)][i],
                    "typed": np.linspace(0, i, 4, dtype=np.float32).reshape(2, 2),
                    "fixed": np.arange(6, dtype=np.int16).reshape(2, 3) - i,
                    "half": np.array([i, 0.1], np.float16),
                }
                for i in values
            ],
        ),
        "images": (
            {"jpeg": "jpeg", "png": "png", "pil": "pil", "pils": "list[pil]", "pngs": "list[png]", "jpegs": "list[jpeg]", "array": "jpeg_array"},
            [
                {
                    "jpeg": image(i),
                    "png": image(i),
                    "pil": image(i, ["RGB", "L"][i]),
                    "pils": [image(j, "L") for j in range(i)],
                    "pngs": [image(j, "L") for j in range(i + 1)],
                    "jpegs": [image(j) for j in range(i)],
                    "array": [b"\xff\xd8 no real jpeg", b""][: i + 1],
                }
                for i in range(2)
            ],
        ),
        "pickled": ({"what": "pkl", "id": "int"}, [{"what": {1, 2}, "id": 5}]),
    }


def write(directory: Path, name: str, columns: dict, samples: list[dict], compression: str | None = None) -> None:
    with tempfile.TemporaryDirectory() as out:
        with MDSWriter(out=f"{out}/shards", columns=columns, compression=compression, size_limit=None) as writer:
            for sample in samples:
                writer.write(sample)
        for file in Path(f"{out}/shards").glob("shard.00000.mds*"):
            shutil.copy(file, directory / file.name.replace("shard.00000", name))


def reader_of(file: Path) -> MDSReader:
    """A reader as index.json would make it, from what the shard itself says."""
    data = file.read_bytes()
    count, first = np.frombuffer(data[:8], np.uint32)
    about = json.loads(data[8 + 4 * int(count) : first])
    info = {"basename": file.name, "bytes": len(data), "hashes": {}}
    return MDSReader.from_json(str(file.parent), "", {**about, "raw_data": info, "samples": int(count), "zip_data": None})


def plain(encoding: str, value) -> object:
    if isinstance(value, list) and encoding != "json":
        return [plain(encoding, one) for one in value]
    if isinstance(value, bytes):
        return {"hex": value.hex()}
    if isinstance(value, np.ndarray):
        kept = value.astype(np.float32) if value.dtype == np.float16 else value
        return {"dtype": value.dtype.name, "shape": list(value.shape), "hex": kept.tobytes().hex()}
    if encoding in BIG:
        return {"int": str(value)}
    if "float" in encoding:
        return {"float": str(float(value))}
    if isinstance(value, Image.Image):
        return {"width": value.width, "height": value.height, "mode": value.mode, "hex": value.tobytes().hex()}
    if isinstance(value, np.generic):
        return value.item()
    return str(value) if isinstance(value, Decimal) else value


def samples_of(file: Path) -> list[dict]:
    """What the library reads. Of compressed images it is given the bytes, by an encoding that leaves them alone."""
    reader = reader_of(file)
    as_bytes = {"jpeg": "bytes", "png": "bytes"}
    encodings = reader.column_encodings
    reader.column_encodings = [as_bytes.get(encoding, encoding) for encoding in encodings]
    samples = []
    for i in range(reader.samples):
        sample = reader.decode_sample(reader.get_sample_data(i))
        samples.append({name: plain(encoding, sample[name]) for name, encoding in zip(reader.column_names, encodings)})
    return samples


def make(directory: Path) -> None:
    from streaming.base.format.mds import encodings

    # Lists of compressed images give their bytes, too.
    encodings.JPEG.decode = encodings.PNG.decode = lambda self, data: data
    content = {}
    for name, (columns, samples) in datasets().items():
        write(directory, name, columns, samples)
        if name != "pickled":
            content[f"{name}.mds"] = samples_of(directory / f"{name}.mds")
    columns, samples = datasets()["texts"]
    for compression in ["gz", "zstd", "bz2"]:
        write(directory, "texts", columns, samples, compression)
    gzipped = directory / "texts.mds.gz"
    data = bytearray(gzipped.read_bytes())
    data[4:8] = bytes(4)  # The time at which it was written.
    gzipped.write_bytes(data)
    (directory / "content.json").write_text(json.dumps(content, indent=1) + "\n")
