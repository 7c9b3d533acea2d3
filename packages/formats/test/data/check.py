"""Reads what this package wrote by the programs that the formats come from.

Each format that has a writer has a module check_NAME.py with a function check(directory), which raises if the files in
the directory are not what write.ts says. See CONTRIBUTING.md.

    python check.py DIRECTORY
"""

import importlib
import sys
from pathlib import Path

HERE = Path(__file__).parent


def main(root: Path) -> None:
    for module in sorted(HERE.glob("check_*.py")):
        name = module.stem.removeprefix("check_")
        importlib.import_module(module.stem).check(root / name)
        print(f"{name}: as it should be")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
