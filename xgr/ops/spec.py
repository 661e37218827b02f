"""The language in which an op is declared: arguments with named axes, costs, cases, compare rule.

A declaration is written once and serves every backend: it yields the torch.library schema, the
output shapes (fake tensors, the null backend), the `Problem` that selects a kernel, and the
conformance cases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from xgr.errors import InputError
from xgr.ops.dtype import MODEL_DTYPES

Role = Literal["in", "out", "inout"]
Flag = str | int | bool

# arguments with another name in torch's schemas: inductor passes an operator's arguments by name
# beside one of its own that is called `node` (torch 2.13)
TORCH_NAMES = {"node": "node_in"}


@dataclass(frozen=True, slots=True)
class Arg:
    """A tensor argument.

    Attributes:
        name: keyword under which it is passed.
        axes: axis names separated by blanks, "R H d".
        dtype: an element type, or "model" for the model's float type.
        role: "in", "out" (written, never read) or "inout".
        optional: may be None.
        many: a sequence of tensors of this shape.
        struct: "trie" or "filters" where the argument is that structure and not one tensor.
    """

    name: str
    axes: str
    dtype: str = "model"
    role: Role = "in"
    optional: bool = False
    many: bool = False
    struct: str = ""

    @property
    def axis_names(self) -> tuple[str, ...]:
        """The axes as a tuple."""
        return tuple(self.axes.split())


@dataclass(frozen=True, slots=True)
class Scalar:
    """A host argument, fixed per captured graph."""

    name: str
    type: Literal["int", "float", "bool", "str"]
    flag: bool = False
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Problem:
    """What selects a kernel: op, dtype, the axis sizes and flags that matter. Hashable."""

    op: str
    dtype: str
    axes: tuple[tuple[str, int], ...]
    flags: tuple[tuple[str, Flag], ...] = ()
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # once: every bind of a known problem begins with it
        object.__setattr__(self, "_hash", hash((self.op, self.dtype, self.axes, self.flags)))

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        return Problem, (self.op, self.dtype, self.axes, self.flags)  # hashes are a process's own

    @classmethod
    def of(
        cls,
        op: str,
        dtype: str = "float32",
        flags: Mapping[str, Flag] | None = None,
        /,
        **axes: int,
    ) -> Problem:
        """`Problem.of("beam_sort", "float32", {"order": "path"}, R=128, C=256, B=1)`."""
        return cls(op, dtype, tuple(sorted(axes.items())), tuple(sorted((flags or {}).items())))

    @property
    def sizes(self) -> dict[str, int]:
        """Axis sizes by name."""
        return dict(self.axes)

    def flag(self, name: str, default: Flag = False) -> Flag:
        """A flag's value."""
        return dict(self.flags).get(name, default)

    def __str__(self) -> str:
        parts = [f"{k}={v}" for k, v in self.axes] + [self.dtype]
        parts += [f"{k}={v}" for k, v in self.flags if v is not False]
        return f"{self.op}[{','.join(parts)}]"


@dataclass(frozen=True, slots=True)
class Case:
    """One conformance case: sizes, dtype, flags and seed; its id can be pasted back."""

    op: str
    sizes: Mapping[str, int]
    dtype: str = "float32"
    flags: Mapping[str, Flag] = field(default_factory=dict)
    seed: int = 0

    @property
    def id(self) -> str:
        """Readable name, `beam_sort[B=2,C=17,float32,ties=True]`."""
        parts = [f"{k}={v}" for k, v in self.sizes.items()] + [self.dtype]
        parts += [f"{k}={v}" for k, v in self.flags.items()]
        return f"{self.op}[{','.join(parts)}{f',seed={self.seed}' if self.seed else ''}]"


Values = dict[str, Any]
Compare = Callable[["Case", Values, Values, Values], Sequence[str]]


@dataclass(frozen=True, slots=True)
class OpSpec:
    """An op, declared once.

    Attributes:
        name: op name.
        doc: the contract in one to six lines.
        args: tensor arguments in the order of the schema.
        scalars: host arguments; those with `flag` become part of the `Problem`.
        derived: sizes of axes that follow from others, as {"B1": lambda a: a["B"] + 1}.
        implied: sizes of axes that outputs alone have and inputs determine, from the sizes of all
            axes of the inputs, as {"I": lambda a: a["I2"] // 2}.
        tier: "searched" (full kernel records, tuned) or "plain" (one kernel a backend).
        flops: floating point operations of a problem.
        bytes: bytes that must move at least once.
        cases: the conformance cases.
        build: host inputs (NumPy) of a case, scalars included.
        compare: (case, inputs, expected, got) -> complaints, empty when they agree.
        version: raised when the contract changes; tuned tables of another version are refused.
        deterministic: equal inputs give equal bits on one backend.
        composed_of: ops that serve together where a backend has no kernel of its own that is
            chosen by default.
    """

    name: str
    doc: str
    args: tuple[Arg, ...]
    scalars: tuple[Scalar, ...]
    flops: Callable[[Problem], int]
    bytes: Callable[[Problem], int]
    cases: Callable[[], Iterable[Case]]
    build: Callable[[Case], Values]
    compare: Compare
    derived: Mapping[str, Callable[[Mapping[str, int]], int]] = field(default_factory=dict)
    implied: Mapping[str, Callable[[Mapping[str, int]], int]] = field(default_factory=dict)
    tier: Literal["searched", "plain"] = "searched"
    version: int = 1
    deterministic: bool = True
    composed_of: tuple[str, ...] = ()

    @property
    def inputs(self) -> tuple[Arg, ...]:
        """Arguments that are read."""
        return tuple(a for a in self.args if a.role != "out")

    @property
    def outputs(self) -> tuple[Arg, ...]:
        """Arguments that are written, those changed in place included."""
        return tuple(a for a in self.args if a.role != "in")

    @property
    def axes(self) -> tuple[str, ...]:
        """Axes whose sizes a problem states: all but the derived ones."""
        return tuple(dict.fromkeys(x for a in self.args for x in a.axis_names if self._free(x)))

    def _free(self, axis: str) -> bool:
        return axis not in self.derived

    def check(self, problem: Problem) -> None:
        """Refuse a problem that no call can pose. Absent flags of optional arguments are False.

        Raises:
            InputError: a dtype, axis or flag that the op does not have, or that is missing.
        """
        sizes, flags = problem.sizes, dict(problem.flags)
        if problem.dtype not in MODEL_DTYPES:
            allowed = ", ".join(MODEL_DTYPES)
            raise InputError(f"{self.name}: dtype {problem.dtype!r}, allowed: {allowed}")
        present = [a for a in self.args if not a.optional or flags.get(a.name)]
        needed = {x for a in present for x in a.axis_names if self._free(x)}
        unknown, missing = sorted(set(sizes) - set(self.axes)), sorted(needed - set(sizes))
        if unknown or missing:
            raise InputError(
                f"{self.name}: unknown axes {unknown}, missing axes {missing}; "
                f"axes: {', '.join(self.axes)}"
            )
        for axis, size in sizes.items():
            if size < 0:
                raise InputError(f"{self.name}: axis {axis} is {size}, need 0 or more")
        self._check_flags(flags)

    def _check_flags(self, flags: Mapping[str, Flag]) -> None:
        choices: dict[str, tuple[Flag, ...]] = {
            s.name: s.choices or (False, True) for s in self.scalars if s.flag
        }
        optional = {a.name: (False, True) for a in self.args if a.optional}
        known = ", ".join(choices | optional) or "none"
        for name in sorted(set(flags) - set(choices) - set(optional)):
            raise InputError(f"{self.name}: unknown flag {name!r}; flags: {known}")
        for name in sorted(set(choices) - set(flags)):
            allowed = ", ".join(map(str, choices[name]))
            raise InputError(f"{self.name}: missing flag {name!r}, allowed: {allowed}")
        for name, value in flags.items():
            if value not in (choices | optional)[name]:
                allowed = ", ".join(map(str, (choices | optional)[name]))
                raise InputError(f"{self.name}: {name}={value!r}, allowed: {allowed}")

    @property
    def required(self) -> tuple[Arg, ...]:
        """Inputs that every call has, in order."""
        return tuple(a for a in self.inputs if not a.optional)

    @property
    def asked(self) -> tuple[str, ...]:
        """Axes of outputs whose sizes nothing tells but the outputs themselves."""
        read = {x for a in self.inputs for x in a.axis_names}
        return tuple(x for x in self.axes if x not in read and x not in self.implied)

    def schema(self, returned: bool = False) -> str:
        """The declaration in torch.library's grammar, what is written marked.

        Required inputs may be given by position. A trie is the list of its levels' arrays and the
        number of codes of each level, filters are a list of arrays.

        Args:
            returned: outputs are new tensors that are returned, and the sizes of `asked` axes are
                arguments; else outputs are arguments, in an overload "out" where there are any.
        """
        marks = iter("abcdefghijklmnop")
        names = {a: TORCH_NAMES.get(a.name, a.name) for a in self.args}
        kinds = {a: _kind(a, marks) for a in self.args}
        outs = [a for a in self.args if a.role == "out"]
        keywords = [f"{kinds[a]}? {names[a]}=None" for a in self.inputs if a.optional]
        tries = [a for a in self.args if a.struct == "trie"]
        keywords += [
            f"int[]{'? level_sizes=None' if a.optional else ' level_sizes'}" for a in tries
        ]
        keywords += [f"{s.type} {s.name}" for s in self.scalars]
        if returned:
            keywords += [f"SymInt {axis}" for axis in self.asked]
            results = ", ".join(f"Tensor {names[a]}" for a in outs)
        else:
            keywords += [f"{kinds[a]} {names[a]}" for a in outs]
            results = ""
        parts = [f"{kinds[a]} {names[a]}" for a in self.required]
        parts += ["*", *keywords] if keywords else []
        overload = ".out" if outs and not returned else ""
        return f"{self.name}{overload}({', '.join(parts)}) -> ({results})"

    def shape(self, arg: Arg, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """Shape of an argument for given axis sizes."""
        return tuple(
            self.derived[a](sizes) if a in self.derived else sizes[a] for a in arg.axis_names
        )

    def sizes_of(self, values: Mapping[str, Any]) -> dict[str, int]:
        """Axis sizes of a call's tensors.

        Raises:
            InputError: a tensor has another rank, or two tensors disagree on an axis.
        """
        sizes: dict[str, int] = {}
        owner: dict[str, str] = {}
        for arg, tensor in self.tensors(values):
            for axis, size in self._measured(arg, tensor).items():
                if axis not in self.derived and sizes.setdefault(axis, size) != size:
                    raise InputError(
                        f"{self.name}: axis {axis} is {size} in {arg.name} "
                        f"and {sizes[axis]} in {owner[axis]}"
                    )
                owner.setdefault(axis, arg.name)
        for arg, tensor in self.tensors(values):
            want = self.shape(arg, sizes)
            if tuple(tensor.shape) != want:
                raise InputError(
                    f"{self.name}: {arg.name} has shape {list(tensor.shape)}, need {list(want)}"
                )
        return sizes

    def output_sizes(self, values: Mapping[str, Any], given: Mapping[str, int]) -> dict[str, int]:
        """Axis sizes, derived ones included, of a call whose outputs are still to be made.

        Args:
            values: the inputs; whether they agree is left to `sizes_of`.
            given: sizes of the `asked` axes.

        Raises:
            InputError: a tensor has another rank.
        """
        sizes = dict(given)
        for arg, tensor in self.tensors(values):
            sizes |= self._measured(arg, tensor)
        return sizes | {axis: rule(sizes) for axis, rule in self.implied.items()}

    def _measured(self, arg: Arg, tensor: Any) -> dict[str, int]:
        names, shape = arg.axis_names, tuple(tensor.shape)
        if len(shape) != len(names):
            raise InputError(
                f"{self.name}: {arg.name} has shape {list(shape)}, need [{', '.join(names)}]"
            )
        return dict(zip(names, shape, strict=True))

    def problem(self, values: Mapping[str, Any], dtype: str) -> Problem:
        """The `Problem` of a call."""
        known = {a.name for a in self.args} | {s.name for s in self.scalars}
        unknown = sorted(set(values) - known)
        missing = [a.name for a in self.args if not a.optional and values.get(a.name) is None]
        missing += [s.name for s in self.scalars if s.name not in values]
        if unknown or missing:
            raise InputError(
                f"{self.name}: unknown arguments {unknown}, missing arguments {missing}; "
                f"the op is {self._signature()}"
            )
        flags: dict[str, Flag] = {}
        for scalar in self.scalars:
            if scalar.choices and values[scalar.name] not in scalar.choices:
                raise InputError(
                    f"{self.name}: {scalar.name}={values[scalar.name]!r}, "
                    f"allowed: {', '.join(scalar.choices)}"
                )
            if scalar.flag:
                flags[scalar.name] = values[scalar.name]
        flags |= {a.name: values.get(a.name) is not None for a in self.args if a.optional}
        return Problem.of(self.name, dtype, flags, **self.sizes_of(values))

    def _signature(self) -> str:
        names = [f"{a.name}=None" if a.optional else a.name for a in self.args]
        return f"{self.name}({', '.join(names + [s.name for s in self.scalars])})"

    def tensors(self, values: Mapping[str, Any]) -> Iterable[tuple[Arg, Any]]:
        """Every array of a call with the argument that it is of; structures have their own.

        Raises:
            InputError: something is no array, or a list of arrays is empty.
        """
        for arg in self.args:
            value = values.get(arg.name)
            if value is None or arg.struct:
                continue
            if arg.many and not (isinstance(value, list | tuple) and value):
                raise InputError(f"{self.name}: {arg.name} is {value!r}, need a list of arrays")
            for tensor in value if arg.many else (value,):
                if not hasattr(tensor, "shape"):
                    kind = type(tensor).__name__
                    raise InputError(f"{self.name}: {arg.name} is of type {kind}, need an array")
                yield arg, tensor


def _kind(arg: Arg, marks: Iterator[str]) -> str:
    """The type of an argument in torch.library's grammar."""
    marked = f"Tensor({next(marks)}!)" if arg.role != "in" else "Tensor"
    return f"{marked}[]" if arg.many or arg.struct else marked
