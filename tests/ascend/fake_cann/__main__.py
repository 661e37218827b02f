"""Run a command under the fake CANN: python -m tests.ascend.fake_cann -- COMMAND [ARGUMENT ...]."""

import os
import sys

from tests.ascend.fake_cann.build import environment

if __name__ == "__main__":
    command = sys.argv[1:]
    if command[:1] == ["--"]:
        command = command[1:]
    if not command:
        sys.exit(__doc__)
    os.execvpe(command[0], command, environment(os.environ))
