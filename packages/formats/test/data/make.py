"""Makes the files in the folders beside this one, by the programs that the formats come from.

Each format has a module make_NAME.py with a function make(directory), which fills the folder NAME. What is made is
the same each time.

    python make.py [NAME ...]
"""

import importlib
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).parent


def main(names: list[str]) -> None:
    for module in sorted(HERE.glob("make_*.py")):
        name = module.stem.removeprefix("make_")
        if names and name not in names:
            continue
        directory = HERE / name
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir()
        importlib.import_module(module.stem).make(directory)
        for file in sorted(directory.iterdir()):
            print(f"{file.relative_to(HERE)}: {file.stat().st_size} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
