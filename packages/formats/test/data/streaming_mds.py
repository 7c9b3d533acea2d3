"""The reader and the writer of MosaicML Streaming, without what the rest of that package imports.

Its __init__ modules import transformers and the clients of all clouds, which shards do not need.
"""

import importlib.util
import sys
import types
from pathlib import Path

ROOT = Path(importlib.util.find_spec("streaming").origin).parent
for name in ["streaming", "streaming.base", "streaming.base.format"]:
    package = types.ModuleType(name)
    package.__path__ = [str(ROOT.joinpath(*name.split(".")[1:]))]
    sys.modules[name] = package

from streaming.base.format.mds import MDSReader, MDSWriter  # noqa: E402

__all__ = ["MDSReader", "MDSWriter"]
