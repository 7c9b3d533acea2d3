"""CSV and JSON lines by Python's csv and json, with the rows in them as JSON."""

import csv
import json
from pathlib import Path

COLUMNS = ["id", "text", "größe"]
ROWS = [
    ["1", "plain", "0.5"],
    ["2", 'with "quotes", commas', ""],
    ["3", "two\nlines", "ü"],
    ["4", "three\r\nlines\n", "\U0001f600"],
    ["5", " spaces ", "'"],
    ["", "", ""],
]
SAMPLES = [{"id": 1, "text": "größe \U0001f600"}, [1, 2.5, None, True], "a\nb", {"nested": {"list": [{}]}}, 3]


def write(file: Path, rows: list, encoding: str = "utf-8", **dialect) -> None:
    with open(file, "w", newline="", encoding=encoding) as output:
        csv.writer(output, **dialect).writerows(rows)


def make(directory: Path) -> None:
    write(directory / "excel.csv", [COLUMNS, *ROWS])
    write(directory / "unix.csv", [COLUMNS, *ROWS], dialect="unix")
    write(directory / "bom.csv", [COLUMNS, *ROWS], encoding="utf-8-sig")
    write(directory / "tabs.tsv", [COLUMNS, *ROWS], dialect="excel-tab")
    write(directory / "no-header.csv", ROWS)
    lines = [json.dumps(sample) for sample in SAMPLES]
    (directory / "ascii.jsonl").write_bytes("\n".join(lines).encode())
    lines = [json.dumps(sample, ensure_ascii=False) + "\r\n" for sample in SAMPLES]
    (directory / "windows.jsonl").write_bytes("\r\n".join(lines).encode("utf-8-sig"))
    lines = [json.dumps(sample, ensure_ascii=False) + "\n" for sample in SAMPLES]
    with open(directory / "mac.jsonl", "w", newline="\r", encoding="utf-8") as output:
        output.writelines(lines)
    content = {"columns": COLUMNS, "rows": ROWS, "samples": SAMPLES}
    (directory / "content.json").write_text(json.dumps(content, indent=1) + "\n")
