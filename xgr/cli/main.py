"""`xgr`: collects the commands; an error of xgr is one message and exit code 2."""

from __future__ import annotations

import sys

import typer

import xgr
from xgr.cli import bench, catalog, demo, doctor, evaluate, explain, ops, recommend, tune
from xgr.errors import XgrError

app = typer.Typer(
    name="xgr",
    help="Runtime for generative recommendation.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("demo")(demo.demo)
app.command("recommend")(recommend.recommend)
app.command("evaluate")(evaluate.evaluate)
app.command("explain")(explain.explain)
app.command("doctor")(doctor.doctor)
app.add_typer(ops.app, name="ops")
app.add_typer(catalog.app, name="catalog")
app.add_typer(bench.app, name="bench")
app.add_typer(tune.app, name="tune")


def _version(value: bool) -> None:
    if value:
        typer.echo(xgr.__version__)
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Show the version."
    ),
) -> None:
    return


def main() -> None:
    """Entry point of the console script."""
    try:
        app()
    except XgrError as error:
        print(f"xgr: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
