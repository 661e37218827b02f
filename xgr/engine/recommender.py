"""Recommender: a checkpoint and a catalogue in, items out."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack, overload

from xgr.catalog import Catalogue, CatalogueStore, ItemId, read_catalogue
from xgr.engine.codes import on_model_codes
from xgr.engine.config import EngineConfig
from xgr.engine.engine import Engine
from xgr.engine.lanes import Lanes, Progress
from xgr.engine.prompts import HistoryItem, Speller
from xgr.engine.request import Prepared, Request, Width, is_count
from xgr.engine.results import Recommendations
from xgr.errors import InputError, ModelError, RequestFailed
from xgr.models.decoder import Decoder
from xgr.models.tokens import PromptTemplate, Tokenizer, load_template
from xgr.runtime import runtime

Source = str | os.PathLike[str]

# what a user gets where errors are returned
Served = Recommendations | InputError | RequestFailed

# users that one error names
_NAMED = 5


class Options(TypedDict, total=False):
    """Keywords of `Recommender.recommend`, which describes them."""

    token_ids: Sequence[Sequence[int]] | None
    prompts: Sequence[str] | None
    exclude: Iterable[Any]
    allow: Iterable[Any] | None
    filters: Sequence[str]
    exclude_history: bool
    per_sid: int | None
    unknown: Literal["error", "skip"]
    progress: Progress | None


class Recommender:
    """Recommends the next items of users.

    Attributes:
        lanes: the engines that serve.
        store: the current catalogue, with its codes in the order of the model's tokens.
        speller: tokenizer and prompt template.
    """

    def __init__(self, lanes: Lanes, store: CatalogueStore, speller: Speller) -> None:
        self.lanes, self.store, self.speller = lanes, store, speller

    @property
    def engine(self) -> Engine:
        """The first lane."""
        return self.lanes.engines[0]

    @classmethod
    def from_pretrained(
        cls,
        model_dir: Source,
        catalog: Source | Catalogue,
        device: str = "cpu",
        *,
        dtype: str | None = None,
        template: str | PromptTemplate | None = None,
        max_items: int | None = None,
        score_end: bool = False,
        lanes: int | None = None,
        **config: Any,
    ) -> Recommender:
        """Load a Hugging Face checkpoint and a catalogue.

        Args:
            model_dir: folder with config.json, safetensors and tokenizer.json.
            catalog: a catalogue, or a file or folder that `read_catalogue` reads.
            device: "cpu", or another device that has a backend.
            dtype: "float32", "bfloat16" or "float16"; float32 on the CPU, else the checkpoint's.
            template: name of a published prompt template or a template of one's own; the model
                folder's `xgr.json` when None.
            max_items: history items that enter the prompt; the template's own when None.
            score_end: add the log-probs of the template's end tokens to each score.
            lanes: engines that serve batches side by side; the device's own number when None.
            **config: fields of `EngineConfig` (normalize, kv_mode, max_tokens, ...).

        Raises:
            ModelError: a checkpoint that cannot be run.
            CatalogueError: a catalogue that is refused, or names codes the model has no token for.
            BackendMissing: the device cannot be used here.
        """
        rt = runtime(device)
        folder = Path(model_dir)
        if not folder.is_dir():
            what = "is no folder" if folder.exists() else "does not exist"
            raise ModelError(f"{folder} {what}: give the folder of a Hugging Face checkpoint")
        form = template if isinstance(template, PromptTemplate) else load_template(folder, template)
        if max_items is not None:
            form = form.replace(max_items=max_items)
        tokenizer = Tokenizer.load(folder)
        known = catalog if isinstance(catalog, Catalogue) else read_catalogue(catalog)
        known, ids = on_model_codes(known, form, tokenizer)
        if score_end:
            config["end_tokens"] = tuple(form.end_token_ids(tokenizer))
        settings = _config(config)
        decoder = Decoder.load(rt, folder, dtype or ("float32" if device == "cpu" else None))
        count = rt.backend.default_lanes if lanes is None else lanes
        if not is_count(count):
            raise InputError(f"lanes is {lanes!r}, need a whole number of at least 1, or None")
        # bound ops hold workspaces: each engine has its own, so that threads may use several
        engines = [Engine(rt.lane(), decoder, ids, settings) for _ in range(count)]
        labels = tuple(tokenizer.tokens(level) for level in ids)
        # a later version must spell its codes as this one does, whatever its file numbers them
        store = CatalogueStore(
            known, prepare=partial(Catalogue.rebase, labels_per_level=known.labels)
        )
        return cls(Lanes(engines), store, Speller(tokenizer, form, labels))

    @overload
    def recommend(
        self,
        histories: Sequence[Sequence[HistoryItem]] | None = None,
        k: int = 10,
        beam_width: Width = 128,
        *,
        errors: Literal["raise"] = "raise",
        **options: Unpack[Options],
    ) -> list[Recommendations]: ...

    @overload
    def recommend(
        self,
        histories: Sequence[Sequence[HistoryItem]] | None = None,
        k: int = 10,
        beam_width: Width = 128,
        *,
        errors: Literal["return"],
        **options: Unpack[Options],
    ) -> list[Served]: ...

    def recommend(
        self,
        histories: Sequence[Sequence[HistoryItem]] | None = None,
        k: int = 10,
        beam_width: Width = 128,
        *,
        token_ids: Sequence[Sequence[int]] | None = None,
        prompts: Sequence[str] | None = None,
        exclude: Iterable[Any] = (),
        allow: Iterable[Any] | None = None,
        filters: Sequence[str] = (),
        exclude_history: bool = False,
        per_sid: int | None = None,
        unknown: Literal["error", "skip"] = "error",
        errors: Literal["raise", "return"] = "raise",
        progress: Progress | None = None,
    ) -> list[Recommendations] | list[Served]:
        """The next items of each user, best first.

        Args:
            histories: users' items in time order: item ids, SID strings or code tokens. Give
                these, or `token_ids` (whole prompts), or `prompts` (text).
            k: items a user.
            beam_width: beams kept, one number or one a level.
            token_ids: prompts as token ids, used as they are.
            prompts: prompts as text; the template's begin tokens are appended.
            exclude: item ids that may not come out: one list for all, or one list a user.
            allow: the only item ids that may come out, in the same forms.
            filters: names of filters registered with the catalogue.
            exclude_history: a user's own history may not come out.
            per_sid: at most this many items of one SID.
            unknown: history, exclude or allow items that the catalogue lacks are an "error", or
                "skip" leaves them out.
            errors: "raise" raises what is wrong with users, before anything is launched where it
                can be told so early; "return" puts the error in the place of its user and serves
                the others.
            progress: told after each batch how many users it held.

        Raises:
            InputError: an option that no user can be served with; or naming the users whose input
                is refused, and why.
            RequestFailed: the model gave NaN for users' candidates; names the users.
        """
        given = [p for p in (histories, token_ids, prompts) if p is not None]
        if len(given) != 1:
            raise InputError("give exactly one of histories, token_ids and prompts")
        if unknown not in ("error", "skip"):
            raise InputError(f"unknown is {unknown!r}, allowed: error, skip")
        if errors not in ("raise", "return"):
            raise InputError(f"errors is {errors!r}, allowed: raise, return")
        if exclude_history and histories is None:
            raise InputError("exclude_history needs histories: token_ids and prompts name no items")
        if isinstance(given[0], str) or not isinstance(given[0], Iterable):
            raise InputError(f"got {given[0]!r}, need a list with one entry a user")
        users = list(given[0])
        if isinstance(filters, Iterable) and not isinstance(filters, str):
            filters = tuple(filters)
        shared = Request((), beam_width, k, per_sid, filters=filters, unknown=unknown)
        shared.check_options(self.engine.depth)
        excludes = _per_user("exclude", exclude, len(users))
        allows = _per_user("allow", allow, len(users)) if allow is not None else [None] * len(users)

        def prepare(at: int, user: Any, catalogue: Catalogue) -> Prepared | InputError:
            # a history is read twice, so that one that can be read once only is kept
            user = list(user) if isinstance(user, Iterator) else user
            try:
                prompt = self._prompt(user, catalogue, histories, token_ids, unknown)
                own = list(excludes[at] or ())
                if exclude_history:
                    own += self.speller.items(user, catalogue)
                request = replace(shared, token_ids=prompt, exclude=own, allow=allows[at])
                return self.engine.prepare(request, catalogue)
            except InputError as error:
                return error

        with self.store.pin() as catalogue:
            prepared = [prepare(at, user, catalogue) for at, user in enumerate(users)]
            if errors == "raise":
                _raise(prepared)
            wanted = [one for one in prepared if isinstance(one, Prepared)]
            outcomes = iter(self.lanes.run(wanted, catalogue, progress))
            served = [next(outcomes) if isinstance(p, Prepared) else p for p in prepared]
        return _all_served(served) if errors == "raise" else served

    def score(self, history: Sequence[HistoryItem], items: Sequence[ItemId]) -> list[float]:
        """Exact log-prob of each item after a history, for re-ranking.

        The beam search is run with only these items allowed and room for all of them, so nothing
        is pruned; an item's score is that of its SID. Chunks of `max_rows` items.

        Raises:
            InputError: an unknown item, or a recommender whose search is not constrained.
            RequestFailed: the model gave NaN for an item.
        """
        config = self.engine.config
        if not config.constrained:
            raise InputError("score needs a constrained search; this recommender is unconstrained")
        with self.store.pin() as catalogue:
            prompt = self.speller.history(history, catalogue)
            positions = catalogue.positions(items).tolist()
            leaves = [catalogue.leaf_of(position) for position in positions]
            distinct = sorted(set(leaves))
            scores: dict[int, float] = {}
            size = min(config.max_rows, config.filter_capacity)
            for begin in range(0, len(distinct), size):
                chunk = distinct[begin : begin + size]
                ids = [catalogue.item_id(catalogue.item_positions(leaf)[0]) for leaf in chunk]
                request = Request(prompt, len(chunk), len(chunk), allow=ids)
                prepared = self.engine.prepare(request, catalogue)
                for found in _all_served(self.lanes.run([prepared], catalogue))[0]:
                    scores[catalogue.leaf_of(catalogue.position(found.item_id))] = found.score
            return [scores[leaf] for leaf in leaves]

    def _prompt(
        self,
        user: Any,
        catalogue: Catalogue,
        histories: object,
        token_ids: object,
        unknown: Literal["error", "skip"],
    ) -> list[int]:
        if histories is not None:
            return self.speller.history(user, catalogue, unknown)
        if token_ids is not None:
            if not isinstance(user, Iterable):
                raise InputError(f"a prompt is a list of token ids, got {user!r}")
            return list(user)
        if not isinstance(user, str):
            raise InputError(f"a text prompt is a string, got {user!r}")
        return self.speller.text(user)


def _config(fields: dict[str, Any]) -> EngineConfig:
    try:
        return EngineConfig(**fields)
    except TypeError as error:
        known = ", ".join(EngineConfig.__dataclass_fields__)
        raise InputError(f"{sorted(fields)} are not all known; known: {known}") from error


def _all_served(outcomes: Sequence[Served]) -> list[Recommendations]:
    """The results, when no request failed.

    Raises:
        RequestFailed: naming the users whose requests failed.
    """
    _raise(outcomes)
    return [one for one in outcomes if isinstance(one, Recommendations)]


def _raise(places: Sequence[object]) -> None:
    """Raise the errors among what users got, as one that names the first of these users."""
    failed = [
        (at, one) for at, one in enumerate(places) if isinstance(one, InputError | RequestFailed)
    ]
    if failed:
        more = f"; and {len(failed) - _NAMED} more users" if len(failed) > _NAMED else ""
        named = "; ".join(f"user {at}: {error}" for at, error in failed[:_NAMED])
        first = failed[0][1]
        raise type(first)(named + more) from first


def _per_user(name: str, given: Iterable[Any], users: int) -> list[Sequence[ItemId] | None]:
    """One list a user, from one list for all or one list a user."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InputError(f"{name} is {given!r}, need a list of item ids")
    lists = list(given)
    nested = [isinstance(item, Iterable) and not isinstance(item, str) for item in lists]
    if not any(nested):
        return [tuple(lists)] * users
    if not all(nested) or len(lists) != users:
        raise InputError(
            f"{name} has {len(lists)} entries for {users} users: give one list of item ids for "
            "all users, or one list for each"
        )
    return [tuple(item) for item in lists]
