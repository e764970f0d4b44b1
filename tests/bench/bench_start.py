"""Start-up: `import workbench` and `workbench --help`, each beside a bare interpreter.

python tests/bench/bench_start.py
"""

from __future__ import annotations

import subprocess
import sys
import time

import numpy as np
from common import row

COMMANDS = {
    "python -c pass": ["-c", "pass"],
    "import workbench": ["-c", "import workbench"],
    "workbench --help": ["-m", "workbench", "--help"],
    "workbench ask --help": ["-m", "workbench", "ask", "--help"],
}


def main() -> None:
    row("command", "median s", "max s")
    for name, arguments in COMMANDS.items():
        spent = []
        for _ in range(12):
            began = time.perf_counter()
            subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
            spent.append(time.perf_counter() - began)
        row(name, f"{np.median(spent[2:]):.3f}", f"{max(spent[2:]):.3f}")


if __name__ == "__main__":
    main()
