"""What encodeTar wrote is what webdataset reads."""

import json
from pathlib import Path

from make_webdataset import samples_of


def check(directory: Path) -> None:
    for name in ["written.tar", "written.tar.gz"]:
        assert samples_of(directory / name) == json.loads((directory / "written.json").read_text()), name
