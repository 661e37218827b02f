"""Bytes that installing the base package downloads, build requirements included, and its largest.

python -m benchmarks.install_size --json benchmarks/results/install_size.json
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from benchmarks._command import run_main, writable
from xgr.bench import record

ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--json", type=writable, help="write the record of the run")
    args = parser.parse_args()
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    with tempfile.TemporaryDirectory() as folder:
        pip = [sys.executable, "-m", "pip"]
        made = [*pip, "wheel", "-q", "--no-deps", "--wheel-dir", folder, str(ROOT)]
        subprocess.run(made, check=True)
        wheel = str(next(Path(folder).glob("xgr-*.whl")))
        subprocess.run([*pip, "download", "-q", "--dest", folder, wheel, *build], check=True)
        files = {p.name: p.stat().st_size for p in Path(folder).iterdir()}
    fetched = {name: size for name, size in files.items() if not name.startswith("xgr-")}
    largest = dict(sorted(fetched.items(), key=lambda entry: -entry[1])[:5])
    results = {
        "download_bytes": sum(fetched.values()),
        "packages": len(fetched),
        "wheel_bytes": next(size for name, size in files.items() if name.startswith("xgr-")),
        "largest": largest,
    }
    print(json.dumps(results, indent=2))
    if args.json:
        record.write(args.json, "install_size", results)


if __name__ == "__main__":
    run_main(main)
