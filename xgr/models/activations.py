"""Buffers of a forward, and the products, norms and gates between them.

A norm is before the products of its output or, where the device does better with fewer launches,
behind them: with its gain in their weights, (x / rms(x)) . w = (x . w) / rms(x), and who reads the
product divides it.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

from xgr.models.parameters import Decoder
from xgr.ops.array import Array
from xgr.registry.bind import Bound
from xgr.runtime import Runtime

# shape of a row of each array of a workspace
Places = dict[str, tuple[int, ...]]
# bytes that every array of a workspace begins at a multiple of
_ALIGNED = 256


class Binder:
    """Binds an op to the problem that its arguments pose."""

    def __init__(self, rt: Runtime) -> None:
        self._rt = rt

    def __call__(self, op: str, **arguments: Any) -> Bound:
        """The bound op; outputs may be left out of `arguments` only if they fix no axis."""
        return self._rt.bind(op, self._rt.problem(op, **arguments))

    def whole(self, op: str, **arguments: Any) -> Bound | None:
        """The bound op; None where it is made of others by default, which can be bound instead.

        Then the workspace between them may be memory that the caller has.
        """
        problem = self._rt.problem(op, **arguments)
        choice = self._rt.choose(op, problem)
        return None if choice.parts and not choice.forced else self._rt.bind(op, problem)


class Workspace:
    """Memory of a forward's activations, asked for once; forwards that never overlap share it.

    What attention reads and writes and what the MLP does are never needed at once: they lie in
    the same place. Arrays of few rows lie close together, at the front: a small batch touches few
    pages of memory.

    Attributes:
        rows: N, tokens or beams of the largest forward.
    """

    def __init__(self, rt: Runtime, decoder: Decoder, rows: int) -> None:
        c, kind = decoder.config, decoder.dtype
        rows_of_h = ("hidden", "normed") if decoder.norms_behind else ("hidden", "normed", "delta")
        stream: Places = {name: (c.hidden_size,) for name in rows_of_h}
        attention: Places = {
            "qkv": ((c.num_heads + 2 * c.num_kv_heads) * c.head_dim,),
            "q": (c.num_heads, c.head_dim),
            "attended": (c.num_heads, c.head_dim),
        }
        mlp: Places = {"gate_up": (2 * c.intermediate_size,), "gated": (c.intermediate_size,)}
        self._halves = (stream | attention, stream | mlp)
        self._granule = max(1, _ALIGNED // kind.itemsize)
        self.rows = rows
        self._memory = rt.empty((max(self._places(rows)[1]),), kind)

    def arrays(self, rows: int) -> dict[str, Array]:
        """By name, [rows, ...] each.

        Raises:
            ValueError: more rows than it has.
        """
        if rows > self.rows:
            raise ValueError(f"{rows} rows in a workspace of {self.rows}")
        found: dict[str, Array] = {}
        for name, (at, shape) in self._places(rows)[0].items():
            found[name] = self._memory[at : at + rows * prod(shape)].reshape((rows, *shape))
        return found

    def _places(self, rows: int) -> tuple[dict[str, tuple[int, tuple[int, ...]]], list[int]]:
        """Begin and shape of a row of each array, and where each half ends."""
        places, ends = {}, []
        for half in self._halves:
            at = 0
            for name, shape in half.items():
                places[name] = at, shape
                at += -(-rows * prod(shape) // self._granule) * self._granule
            ends.append(at)
        return places, ends


class Activations:
    """Buffers and bound ops of a forward over a fixed number of rows, at most the workspace's.

    Attributes:
        hidden: [N, h], the residual stream; the caller embeds into it.
        normed: [N, h], the final hidden states after `finish`.
        qkv: [N, (H + 2 G) d].
        behind: [N, h], what the norm of qkv is of, where that comes behind the product; or None.
        q, attended: [N, H, d].
    """

    def __init__(self, rt: Runtime, decoder: Decoder, rows: int, workspace: Workspace) -> None:
        self.rows = rows
        part = workspace.arrays(rows)
        self.hidden, self.normed, self.qkv = part["hidden"], part["normed"], part["qkv"]
        self.q, self.attended = part["q"], part["attended"]
        self.behind = self.hidden if decoder.norms_behind else None
        c = decoder.config
        part["flat"] = self.attended.reshape((rows, c.num_heads * c.head_dim))
        walk = _NormsBehind if decoder.norms_behind else _NormsBefore
        self._walk = walk(Binder(rt), decoder, part)

    def project(self, index: int) -> None:
        """Hidden states -> qkv of layer `index`."""
        self._walk.project(index)

    def transform(self, index: int) -> None:
        """Attention output -> output projection and MLP of layer `index`."""
        self._walk.transform(index)

    def finish(self) -> Array:
        """The final hidden states [N, h]."""
        self._walk.finish()
        return self.normed


class _NormsBefore:
    """Norms are ops, which add the output of the half layer before to the residual stream."""

    def __init__(self, bind: Binder, decoder: Decoder, part: Mapping[str, Array]) -> None:
        self._decoder, self._part = decoder, part
        layer = decoder.layers[0]
        self._norm = bind("rms_norm", x=part["hidden"], **self._norm_arguments(layer.input_norm))
        self._add_norm = bind("rms_norm", **self._add_arguments(layer.input_norm))
        self._qkv = bind("linear", **self._product("normed", layer.qkv, layer.qkv_bias, "qkv"))
        self._output = bind(
            "linear", **self._product("flat", layer.output, layer.output_bias, "delta")
        )
        self._up = bind(
            "linear", **self._product("normed", layer.gate_up, layer.gate_up_bias, "gate_up")
        )
        self._swiglu = bind("swiglu", gate_up=part["gate_up"], out=part["gated"])
        self._down = bind("linear", **self._product("gated", layer.down, layer.down_bias, "delta"))

    def project(self, index: int) -> None:
        layer = self._decoder.layers[index]
        if index == 0:
            self._norm(x=self._part["hidden"], **self._norm_arguments(layer.input_norm))
        else:
            self._add_norm(**self._add_arguments(layer.input_norm))
        self._qkv(**self._product("normed", layer.qkv, layer.qkv_bias, "qkv"))

    def transform(self, index: int) -> None:
        layer, part = self._decoder.layers[index], self._part
        self._output(**self._product("flat", layer.output, layer.output_bias, "delta"))
        self._add_norm(**self._add_arguments(layer.mlp_norm))
        self._up(**self._product("normed", layer.gate_up, layer.gate_up_bias, "gate_up"))
        self._swiglu(gate_up=part["gate_up"], out=part["gated"])
        self._down(**self._product("gated", layer.down, layer.down_bias, "delta"))

    def finish(self) -> None:
        self._add_norm(**self._add_arguments(self._decoder.norm))

    def _product(self, x: str, weight: Array, bias: Array | None, out: str) -> dict[str, Any]:
        return {"x": self._part[x], "weight": weight, "bias": bias, "out": self._part[out]}

    def _norm_arguments(self, weight: Array | None) -> dict[str, Any]:
        eps = self._decoder.config.rms_norm_eps
        return {"weight": weight, "eps": eps, "out": self._part["normed"]}

    def _add_arguments(self, weight: Array | None) -> dict[str, Any]:
        rows = {"x": self._part["delta"], "residual": self._part["hidden"]}
        return rows | self._norm_arguments(weight)


class _NormsBehind:
    """Products add to the residual stream, and their readers divide by its norm."""

    def __init__(self, bind: Binder, decoder: Decoder, part: Mapping[str, Array]) -> None:
        self._decoder, self._part = decoder, part
        layer = decoder.layers[0]
        self._qkv = bind("linear", **self._product(layer.qkv, "qkv"))
        self._output = bind("linear_add", **self._added("flat", layer.output))
        self._fused = bind.whole("linear_swiglu", **self._fused_gate(layer.gate_up))
        if self._fused is None:
            self._up = bind("linear", **self._product(layer.gate_up, "gate_up"))
            self._swiglu = bind("normed_swiglu", **self._gate())
        self._down = bind("linear_add", **self._added("gated", layer.down))
        self._norm = bind("rms_norm", **self._last())

    def project(self, index: int) -> None:
        self._qkv(**self._product(self._decoder.layers[index].qkv, "qkv"))

    def transform(self, index: int) -> None:
        layer = self._decoder.layers[index]
        self._output(**self._added("flat", layer.output))
        if self._fused is None:
            self._up(**self._product(layer.gate_up, "gate_up"))
            self._swiglu(**self._gate())
        else:
            self._fused(**self._fused_gate(layer.gate_up))
        self._down(**self._added("gated", layer.down))

    def finish(self) -> None:
        self._norm(**self._last())

    def _product(self, weight: Array, out: str) -> dict[str, Any]:
        return {"x": self._part["hidden"], "weight": weight, "out": self._part[out]}

    def _added(self, x: str, weight: Array) -> dict[str, Any]:
        return {"x": self._part[x], "weight": weight, "residual": self._part["hidden"]}

    def _gate(self) -> dict[str, Any]:
        part, eps = self._part, self._decoder.config.rms_norm_eps
        rows = {"gate_up": part["gate_up"], "hidden": part["hidden"], "out": part["gated"]}
        return rows | {"eps": eps}

    def _fused_gate(self, weight: Array) -> dict[str, Any]:
        part, eps = self._part, self._decoder.config.rms_norm_eps
        return {"x": part["hidden"], "weight": weight, "out": part["gated"], "eps": eps}

    def _last(self) -> dict[str, Any]:
        decoder, part = self._decoder, self._part
        rows = {"x": part["hidden"], "out": part["normed"]}
        return rows | {"weight": decoder.norm, "eps": decoder.config.rms_norm_eps}
