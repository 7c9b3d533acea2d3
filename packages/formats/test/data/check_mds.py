"""What encodeMds wrote is what MosaicML Streaming reads."""

import gzip
import json
from pathlib import Path

from make_mds import samples_of


def check(directory: Path) -> None:
    expected = json.loads((directory / "written.json").read_text())
    assert samples_of(directory / "written.mds") == expected
    unpacked = directory / "unpacked.mds"
    unpacked.write_bytes(gzip.decompress((directory / "written.mds.gz").read_bytes()))
    assert samples_of(unpacked) == expected
