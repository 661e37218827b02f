"""Print what the emulator catches, and how much of AscendC it has."""

import sys

from tests.ascend.emulator import api, hazards


def main() -> int:
    """The table; 1 when something was not caught."""
    missed = 0
    rows = [
        (n, "small kernel", hazards.run_small(n, wrong=True), m) for n, m in hazards.SMALL.items()
    ]
    for name, fault in hazards.FAULTS.items():
        rows.append((name, "real kernel", hazards.run_fault(name, on=True), fault.message))
    for name, where, message, expected in rows:
        caught = expected in message
        missed += not caught
        print(f"{'caught' if caught else 'MISSED':7} {where:13} {name:30} {message}")
    print(f"{len(rows) - missed} of {len(rows)} hazards caught")
    print(
        f"AscendC functions emulated: {len(api.emulated())}, called by the kernels: "
        f"{len(api.used())} ({', '.join(sorted(api.used()))})"
    )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
