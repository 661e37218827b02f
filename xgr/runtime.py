"""runtime(device) -> Runtime: arrays, streams and graphs of a backend, and its ops by name."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xgr import env
from xgr.errors import BackendMissing, InputError
from xgr.ops import spec, specs
from xgr.ops.array import Array
from xgr.ops.dtype import MODEL_DTYPES, DType
from xgr.ops.spec import OpSpec, Problem
from xgr.registry import discover
from xgr.registry.bind import Bound, BoundContext, bound, compose
from xgr.registry.explain import Explanation
from xgr.registry.select import Choice, select
from xgr.registry.table import Tables

if TYPE_CHECKING:
    from xgr.backends.base import Backend, Event, Graph, Memory, Stream
    from xgr.registry.kernel import Kernel


@functools.cache
def runtime(device: str = "cpu") -> Runtime:
    """The runtime of a device: "cpu", "null", or a name that another package registers.

    Raises:
        BackendMissing: the device has no backend, or the backend cannot run on this machine.
    """
    backend_class = discover.load(device)
    probe = backend_class.probe()
    if not probe.available:
        why = "; ".join(str(r) for r in probe.reasons)
        raise BackendMissing(f"device {device!r} cannot be used here: {why}")
    return Runtime(device, backend_class())


class Runtime:
    """Ops of one backend, chosen once per problem.

    `bind` is for loops: it selects, checks and builds once, and the bound op only launches.
    `rt.staged_attention(...)` and its like are for scripts: they derive the problem from the
    arrays and keep a small cache of bound ops.
    """

    def __init__(self, device: str, backend: Backend) -> None:
        settings = env.read()
        self.device = device
        self.backend = backend
        self._env = settings.kernels
        self._deterministic = settings.deterministic
        self._kernels: dict[str, list[Kernel]] = {name: [] for name in specs()}
        for kernel in backend.kernels():
            self.register(kernel)
        for op in self._env:
            spec(op)
        self._bound: dict[tuple[Problem, str | None], Bound] = {}
        self._quick: list[dict[Any, Bound]] = []
        self._tables = Tables()
        if settings.tables:
            versions = {name: s.version for name, s in specs().items()}
            self._tables.read(Path(settings.tables), versions)

    def register(self, kernel: Kernel) -> None:
        """Add a kernel record, of a third party or of a test.

        Raises:
            InputError: the op is not declared, or the name is taken.
        """
        if kernel.op not in self._kernels:
            raise InputError(f"kernel {kernel.name} serves {kernel.op!r}, which is not declared")
        if any(k.name == kernel.name for k in self._kernels[kernel.op]):
            raise InputError(f"{kernel.op} has a kernel named {kernel.name} already")
        self._kernels[kernel.op].append(kernel)
        if hasattr(self, "_bound"):
            self._bound.clear()
            for kept in self._quick:
                kept.clear()

    def lane(self) -> Runtime:
        """The same device and kernels with bound ops of its own, for use by another thread."""
        other = Runtime(self.device, self.backend)
        other._kernels = {op: list(kernels) for op, kernels in self._kernels.items()}
        return other

    def kernels(self, op: str) -> tuple[Kernel, ...]:
        """The kernel records of an op."""
        spec(op)
        return tuple(self._kernels[op])

    # -- choice -------------------------------------------------------------------------------

    def bind(self, op: str, problem: Problem, kernel: str | None = None) -> Bound:
        """Select, check and build the kernel of a problem; cached per problem.

        Raises:
            Unsupported: no kernel can run it, or the forced one cannot, with every reason.
        """
        if problem.op != op:
            raise InputError(f"bind({op!r}) was given a problem of {problem.op!r}")
        key = (problem, kernel)
        kept = self._bound.get(key)
        if kept is None:
            kept = self._bound[key] = self._build(self._select(problem, kernel))
        return kept

    def explain(self, op: str, problem: Problem, kernel: str | None = None) -> Explanation:
        """Every candidate of a problem: chosen, beaten or unsupported, and why."""
        choice = self._select(problem, kernel)
        parts = [self.explain(p, self._part(p, problem)) for p in choice.parts]
        tuned = (op, problem.dtype) in self._tables.by_key
        return Explanation(choice, parts, self._tables.refused, tuned)

    def problem(self, op: str, **arguments: Any) -> Problem:
        """The problem that a call with these arguments poses."""
        declared = spec(op)
        return declared.problem(arguments, self._dtype(declared, arguments))

    def __getattr__(self, op: str) -> Callable[..., None]:
        if op.startswith("_") or op not in specs():
            raise AttributeError(f"Runtime has no attribute and xgr no op {op!r}")
        call = self._convenience(specs()[op])
        setattr(self, op, call)
        return call

    def _convenience(self, declared: OpSpec) -> Callable[..., None]:
        """The op by name: derives the problem from the arrays, keeps what it bound."""
        tensors = [a for a in declared.args if not a.struct]
        lists = [a.name for a in tensors if a.many]
        required = [a.name for a in tensors if not a.many and not a.optional]
        optional = [a.name for a in declared.args if a.optional]
        flags = [s.name for s in declared.scalars if s.flag]
        typed = next((a.name for a in tensors if a.dtype == "model" and not a.optional), "")
        typed = typed if typed not in lists else required[0]
        pick, shape_of = operator.itemgetter(*required), operator.attrgetter("shape")
        bound_of: dict[Any, Bound] = {}
        self._quick.append(bound_of)

        def bind(arguments: dict[str, Any], kernel: str | None) -> Bound:
            problem = declared.problem(arguments, self._dtype(declared, arguments))
            return self.bind(declared.name, problem, kernel)

        def call(*, kernel: str | None = None, **arguments: Any) -> None:
            # the shapes stand for the problem: cheaper to collect than to check
            try:
                key = (
                    kernel,
                    arguments[typed].dtype if typed else None,
                    *map(shape_of, pick(arguments)),
                    *[getattr(arguments.get(name), "shape", None) for name in optional],
                    *[arguments[name] for name in flags],
                    *[len(arguments[name]) for name in lists],
                )
            except (KeyError, AttributeError, TypeError):
                bind(arguments, kernel)  # says which argument is wrong
                raise
            kept = bound_of.get(key)
            if kept is None:
                kept = bound_of[key] = bind(arguments, kernel)
            kept(**arguments)

        return call

    def _dtype(self, declared: OpSpec, arguments: Mapping[str, Any]) -> str:
        for arg in declared.args:
            value = arguments.get(arg.name)
            if arg.dtype == "model" and value is not None:
                name = self.backend.dtype_of(value[0] if arg.many else value).name
                if name not in MODEL_DTYPES:
                    allowed = ", ".join(MODEL_DTYPES)
                    raise InputError(f"{declared.name}: {arg.name} is {name}, allowed: {allowed}")
                return name
        return "float32"

    def _select(self, problem: Problem, kernel: str | None) -> Choice:
        return select(
            spec(problem.op),
            problem,
            self._kernels[problem.op],
            arch=self.backend.arch,
            argument=kernel,
            env=self._env,
            tables=self._tables,
            deterministic=self._deterministic,
        )

    def _build(self, choice: Choice) -> Bound:
        context = BoundContext(self, choice.config)
        if choice.kernel is None:
            return bound(choice, compose(choice, context))
        return bound(choice, choice.kernel.build(choice.problem, context))

    @staticmethod
    def _part(op: str, whole: Problem) -> Problem:
        declared = spec(op)
        axes = {a for arg in declared.args for a in arg.axis_names} - set(declared.derived)
        sizes = {k: v for k, v in whole.sizes.items() if k in axes}
        optional = {a.name: whole.flag(a.name) for a in declared.args if a.optional}
        return Problem.of(op, whole.dtype, optional, **sizes)

    # -- the backend's arrays, order and memory -----------------------------------------------

    def empty(self, shape: Sequence[int], dtype: DType) -> Array:
        """Uninitialised array of the backend, contiguous."""
        return self.backend.empty(shape, dtype)

    def upload(self, host: Any, dtype: DType | None = None) -> Array:
        """Copy of a host array or nested sequence."""
        return self.backend.upload(host, dtype)

    def write(self, target: Array, host: Any) -> None:
        """Copy host values into an array or view."""
        self.backend.write(target, host)

    def fetch(self, array: Array) -> Any:
        """NumPy copy of an array."""
        return self.backend.fetch(array)

    def stream(self, core_group: int = 0) -> Stream:
        """A new stream."""
        return self.backend.stream(core_group)

    def event(self) -> Event:
        """A new event."""
        return self.backend.event()

    def synchronize(self) -> None:
        """Wait for all launches."""
        self.backend.synchronize()

    def capture(self, launch: Callable[[], None]) -> Graph:
        """Record launches as a graph."""
        return self.backend.capture(launch)

    def memory(self) -> Memory:
        """Device memory in use and free."""
        return self.backend.memory()
