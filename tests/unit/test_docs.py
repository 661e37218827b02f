"""What the documents say holds: snippets run, commands parse, links and tables are true."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import fields
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from textwrap import dedent
from typing import Any, NamedTuple

import pytest
import typer

from tests.data import ROOT
from xgr import env
from xgr.catalog import FORMATS
from xgr.cli.main import app
from xgr.conformance import Outcome, run_case
from xgr.conformance.gaps import parse_gaps
from xgr.engine import EngineConfig
from xgr.models.config import ARCHITECTURES
from xgr.models.rope import KINDS
from xgr.models.template import PromptTemplate
from xgr.models.tokens import PUBLISHED, load_template
from xgr.ops import spec
from xgr.registry import Kernel
from xgr.registry.discover import GROUP
from xgr.runtime import runtime

DOCUMENTS = sorted(
    path.relative_to(ROOT).as_posix()
    for pattern in ("*.md", "docs/*.md", "backends/*.md", "benchmarks/*.md", "examples/*.md")
    for path in ROOT.glob(pattern)
)
DEMO = Path(str(files("xgr.demo")))
# what stands in the snippets for a reader's own files and items; of 4711 and 815 the model would
# recommend one again, so that excluding the history shows
STAND_INS = {
    "model/": str(DEMO / "model"),
    "items.index.json": str(DEMO / "items.jsonl"),
    "tomorrow.index.json": str(DEMO / "items.jsonl"),
    "4711": "CR1-03",
    "815": "FA6-05",
    "1024": "CO4-02",
    "2048": "CO4-03",
    "4096": "CR1-08",
}
ONE_COMMAND = re.compile(r"\s*(?:&&|\|\||;|\|)\s*")


class Fence(NamedTuple):
    """A fenced block of a document."""

    document: str
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.document}: {self.text.strip().splitlines()[0]}"


def read(document: str) -> str:
    return (ROOT / document).read_text(encoding="utf-8")


def fences(document: str, *languages: str) -> list[Fence]:
    found = re.findall(r"^( *)```(\w+)\n(.*?)^\1```$", read(document), re.DOTALL | re.MULTILINE)
    return [Fence(document, lang, dedent(text)) for _, lang, text in found if lang in languages]


def prose(document: str) -> str:
    """The document without its fenced blocks."""
    return re.sub(r"^ *```.*?^ *```$", "", read(document), flags=re.DOTALL | re.MULTILINE)


def every(*languages: str) -> list[Fence]:
    return [fence for document in DOCUMENTS for fence in fences(document, *languages)]


def table(document: str, head: str) -> list[list[str]]:
    """The cells of the table whose first header cell is `head`, back-quotes removed."""
    lines = read(document).partition(f"\n| {head} |")[2].splitlines()[2:]
    rows = []
    for line in lines:
        if not line.startswith("|"):
            break
        rows.append([cell.strip().replace("`", "") for cell in line.strip("|").split("|")])
    assert rows, f"{document} has no table that begins with {head}"
    return rows


# -- python ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("fence", every("python"), ids=str)
def test_python_compiles(fence: Fence) -> None:
    compile(fence.text, fence.document, "exec")


def run_python(document: str, names: dict[str, Any]) -> None:
    for fence in fences(document, "python"):
        text = fence.text
        for shown, real in STAND_INS.items():
            text = text.replace(f'"{shown}"', json.dumps(real))
        exec(compile(text, document, "exec"), names)


def test_main_snippet_recommends(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    main = fences("README.md", "python")[0].text
    assert len([line for line in main.splitlines() if line.strip()]) <= 6
    run_python("README.md", names)
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 10
    catalogue, history = names["catalogue"], {STAND_INS["4711"], STAND_INS["815"]}
    for line in printed:
        item, score, title = line.split(" ", 2)
        assert catalogue.title(catalogue.position(item)) == title
        assert float(score) < 0
        assert item not in history
    assert len(names["scores"]) == 2


@pytest.mark.parametrize("document", ["docs/catalogue.md", "docs/models.md", "docs/torch.md"])
def test_other_snippets_run(document: str, capsys: pytest.CaptureFixture[str]) -> None:
    run_python(document, {})
    printed = capsys.readouterr().out
    for shown in re.findall(r"print\(.*\)  # (.*)", read(document)):
        assert shown in printed


def test_backend_snippets_are_a_kernel_that_conforms(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    run_python("backends/README.md", names)
    assert "chosen: mine.swiglu" in capsys.readouterr().out
    rt = runtime("cpu").lane()
    rt.register(Kernel("swiglu", "mine.swiglu", names["build"]))
    cases = [case for case in spec("swiglu").cases() if case.dtype in names["KERNELS"][0].dtypes]
    assert cases
    for case in cases:
        result = run_case(rt, "mine.swiglu", case)
        assert result.outcome is Outcome.OK, f"{case.id}: {result.notes}"


def test_shown_gap_lists_what_the_shown_kernel_lacks() -> None:
    names: dict[str, Any] = {}
    run_python("backends/README.md", names)
    (kernel,) = names["KERNELS"]
    entry_point, shown = fences("backends/README.md", "toml")
    assert set(tomllib.loads(entry_point.text)["project"]["entry-points"]) == {GROUP}
    (gap,) = parse_gaps(shown.text, "the shown gaps.toml")
    for case in spec(kernel.op).cases():
        assert gap.covers(case, kernel.name) == (case.dtype not in kernel.dtypes), case.id


# -- commands -------------------------------------------------------------------------------------


def commands(text: str) -> Iterator[list[str]]:
    """The words of every command of a shell text, without leading variables."""
    for line in text.replace("\\\n", " ").splitlines():
        for part in ONE_COMMAND.split(line):
            words = shlex.split(part, comments=True)
            while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
                words.pop(0)
            if words:
                yield words


def _bare(group: Any, rest: list[str]) -> bool:
    """Whether a group is itself what is called: it may be, and no command of it is named."""
    return group.invoke_without_command and (not rest or rest[0].startswith("-"))


def parse(words: list[str]) -> None:
    """Parse an xgr command line as the app does, without running it."""
    command: Any = typer.main.get_command(app)
    context: Any = None
    rest = words[1:]
    while hasattr(command, "commands") and not _bare(command, rest):
        assert rest, f"{' '.join(words)}: no command"
        name = rest.pop(0)
        assert name in command.commands, f"{' '.join(words)}: xgr has no {name}"
        command = command.commands[name]
    context = command.make_context(words[0], rest)
    context.close()


def known(words: list[str]) -> None:
    """A command that is named in prose: it exists and has the options; values may be left out."""
    command: Any = typer.main.get_command(app)
    for word in words[1:]:
        if hasattr(command, "commands"):
            assert word in command.commands, f"{' '.join(words)}: xgr has no {word}"
            command = command.commands[word]
        elif word.startswith("-"):
            options = {opt for param in command.params for opt in param.opts}
            assert word in options, f"{' '.join(words)}: no option {word}"


@pytest.mark.parametrize("fence", every("sh", "bash"), ids=str)
def test_commands_of_fences_parse(fence: Fence) -> None:
    for words in commands(fence.text):
        program = Path(words[0]).name
        if program == "xgr":
            parse(words)
        elif program == "python" and words[1:2] == ["-m"] and words[2].startswith("benchmarks."):
            source = ROOT / f"{words[2].replace('.', '/')}.py"
            for option in (w for w in words[3:] if w.startswith("--")):
                assert f'"{option}"' in source.read_text(encoding="utf-8"), f"{words}: {option}"
        elif program == "python" and words[1].endswith(".py"):
            assert (ROOT / words[1]).is_file(), words[1]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_commands_of_prose_exist(document: str) -> None:
    for code in re.findall(r"`(xgr [^`]+)`", prose(document)):
        known(code.split())


def test_continuous_integration_finds_its_two_blocks() -> None:
    first, second = fences("README.md", "sh")
    assert first.text == (
        "python3 -m venv .venv && .venv/bin/pip install . && .venv/bin/xgr demo\n"
    )
    assert second.text == (
        ".venv/bin/pip install -e '.[dev]' && .venv/bin/python -m pytest -n auto\n"
    )


def test_every_benchmark_has_a_recipe() -> None:
    recipes = "".join(fence.text for fence in fences("benchmarks/README.md", "bash"))
    for path in (ROOT / "benchmarks").glob("[!_]*.py"):
        assert f"benchmarks.{path.stem} " in recipes, f"benchmarks/README.md: no {path.name}"


def test_quoted_records_name_their_benchmark() -> None:
    """A record that the README quotes is made by a command of benchmarks/README.md."""
    recipes = read("benchmarks/README.md")
    for name in re.findall(r"`(\w+\.json)` \|", read("README.md")):
        assert f"benchmarks/results/{name}" in recipes, name


# -- links, paths and tables ----------------------------------------------------------------------


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_resolve(document: str) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(document)):
        if re.match(r"https?://", target):
            continue
        path, _, anchor = target.partition("#")
        linked = (ROOT / document).parent / path if path else ROOT / document
        assert linked.resolve().exists(), f"{document}: {target}"
        assert linked.resolve().is_relative_to(ROOT), f"{document}: {target} leaves the repository"
        if anchor:
            assert anchor in anchors(linked), f"{document}: no heading {target}"


def anchors(path: Path) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}


@pytest.mark.parametrize("document", ["docs/architecture.md", "CONTRIBUTING.md"])
def test_paths_in_prose_exist(document: str) -> None:
    for path in re.findall(r"`((?:xgr|backends|tuner|tests|\.ci)/[\w/.]*)`", prose(document)):
        if "NAME" not in path:
            assert (ROOT / path).exists(), f"{document}: {path}"


def test_architecture_is_short() -> None:
    assert len(read("docs/architecture.md").splitlines()) <= 60


def test_environment_variables() -> None:
    shown = [(name, default, meaning) for name, default, meaning in table("README.md", "variable")]
    assert shown == [(v.name, v.default or "none", v.meaning) for v in env.VARIABLES]


def test_catalogue_formats() -> None:
    assert {row[0] for row in table("docs/catalogue.md", "format")} == set(FORMATS)


def test_template_fields_and_their_defaults() -> None:
    rows = table("docs/models.md", "field")
    assert {name for row in rows for name in row[0].split(", ")} == set(
        PromptTemplate.__struct_fields__
    )
    spelled: Mapping[str, object] = {"none": (), "all": None, "true": True, "false": False}
    for names, default, _ in rows:
        values = default.split(", ")
        for at, name in enumerate(names.split(", ")):
            text = values[min(at, len(values) - 1)]
            want = spelled[text] if text in spelled else json.loads(text)
            assert getattr(PromptTemplate(), name) == want, name


def test_published_templates() -> None:
    assert [row[0] for row in table("docs/models.md", "template")] == list(PUBLISHED)


def test_engine_limits_and_their_defaults() -> None:
    rows = table("docs/models.md", "keyword")
    assert [row[0] for row in rows] == [field.name for field in fields(EngineConfig)]
    for name, default, _ in rows:
        if re.match(r"\d|\"", default):
            assert getattr(EngineConfig(), name) == json.loads(default), name


def test_normalisations() -> None:
    shown = [row[0].split()[0].strip('"') for row in table("README.md", "normalize")]
    assert shown == list(import_module("xgr.engine.config").NORMALIZE)


def test_architectures_and_rotary_kinds_are_named() -> None:
    text = read("docs/models.md")
    for name in (*ARCHITECTURES, *KINDS):
        assert f"`{name}`" in text, name


def test_shown_xgr_json_is_one(tmp_path: Path) -> None:
    (shown,) = fences("docs/models.md", "json")
    (tmp_path / "xgr.json").write_text(shown.text, encoding="utf-8")
    fields_shown = json.loads(shown.text)["prompt"]
    template = load_template(tmp_path)
    assert template.prefix == PUBLISHED[fields_shown["template"]].prefix
    assert template.max_items == fields_shown["max_items"] != PUBLISHED["lcrec"].max_items
    assert list(template.code_tokens) == fields_shown["code_tokens"]
