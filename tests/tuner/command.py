"""The command line, run in this process."""

from __future__ import annotations

from typer.testing import CliRunner

from xgr.cli.main import app


def cli(*words: object, code: int = 0) -> str:
    """What a command says, the text of its error included; it ends with `code`."""
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == code, result.output + str(result.exception)
    return result.output + str(result.exception or "")
