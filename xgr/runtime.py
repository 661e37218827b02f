"""runtime(device) -> Runtime: arrays, streams and graphs of a backend, and its ops by name."""

from __future__ import annotations

import copy
import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xgr import env
from xgr.errors import BackendMissing, InputError, OutOfMemory
from xgr.ops import spec, specs
from xgr.ops.array import Array
from xgr.ops.dtype import MODEL_DTYPES, DType
from xgr.ops.spec import OpSpec, Problem
from xgr.registry import discover
from xgr.registry.bind import Bound, BoundContext, bound
from xgr.registry.compose import compose, naming, parts_of
from xgr.registry.convenience import CAPACITY, convenience
from xgr.registry.explain import Explanation
from xgr.registry.recent import Recent
from xgr.registry.select import COMPOSED, Choice, select
from xgr.registry.tables import Tables

if TYPE_CHECKING:
    from xgr.backends.base import Backend, Event, Graph, Memory, Stream
    from xgr.registry.kernel import Kernel


# bound ops that a runtime keeps; one of a problem that comes back later is built again
KEPT = 1024


def runtime(device: str = "cpu") -> Runtime:
    """The runtime of a device: "cpu", "null", or a name that another package registers.

    Raises:
        BackendMissing: the device has no backend, or the backend cannot run on this machine.
        InputError: an XGR_* variable has a wrong value, or names a kernel that is not there.
    """
    return _runtime(device)  # runtime() and runtime(device="cpu") are one


def planned(device: str, model: str) -> Runtime:
    """A runtime that explains choices for a device model that need not be here: "Ascend910B1".

    It has no arrays.

    Raises:
        BackendMissing: the device has no backend.
        InputError: the backend does not know the model, or none without its device.
    """
    return Runtime(device, discover.load(device).planned(model))


@functools.cache
def _runtime(device: str) -> Runtime:
    backend_class = discover.load(device)
    try:
        probe = backend_class.probe()
        backend = backend_class() if probe.available else None
    except Exception as error:  # whatever a third party raises: this device is missing
        raise BackendMissing(
            f"the backend of device {device!r} ({discover.found()[device].origin}) cannot be "
            f"started: {type(error).__name__}: {error}"
        ) from error
    if backend is None:
        why = "; ".join(str(r) for r in probe.reasons)
        raise BackendMissing(f"device {device!r} cannot be used here: {why}")
    rt = Runtime(device, backend)
    rt.check_settings()
    return rt


class Runtime:
    """Ops of one backend, chosen once per problem.

    `bind` is for loops: it selects, checks and builds once, and the bound op only launches.
    `rt.staged_attention(...)` and its like are for scripts: they derive the problem from the
    arrays and keep a small cache of bound ops.
    """

    def __init__(self, device: str, backend: Backend) -> None:
        self.device = device
        self.backend = backend
        self._bound: Recent[tuple[Problem, str | None], Bound] = Recent(KEPT)
        self._quick: list[Recent[Any, Bound]] = []
        self._scratch: dict[str, Array] = {}
        self._settings = env.read()
        for op in self._settings.kernels:
            _declared(op, "XGR_KERNEL: ")
        self._tables = Tables(backend.device, backend.family)
        if self._settings.tables:
            self._tables.read(Path(self._settings.tables), specs())
        self._tables.read_shipped(specs())
        self._kernels: dict[str, list[Kernel]] = {name: [] for name in specs()}
        for kernel in backend.kernels():
            self.register(kernel)

    def register(self, kernel: Kernel) -> None:
        """Add a kernel record, of a third party or of a test.

        Raises:
            InputError: the op is not declared, or the name is taken.
        """
        _declared(kernel.op, f"kernel {kernel.name}: ")
        if kernel.name == COMPOSED or any(k.name == kernel.name for k in self._kernels[kernel.op]):
            raise InputError(f"{kernel.op} has a kernel named {kernel.name} already")
        self._kernels[kernel.op].append(kernel)
        self._bound.clear()
        for kept in self._quick:
            kept.clear()

    def lane(self) -> Runtime:
        """The same device, kernels, settings and tables with bound ops (and so workspaces) of its
        own, for use by another thread. Kernels registered later are the registrar's alone.
        """
        other = copy.copy(self)
        for op in specs():
            other.__dict__.pop(op, None)  # calls by name would fill this runtime's caches
        other._bound, other._quick, other._scratch = Recent(KEPT), [], {}
        other._kernels = {op: list(kernels) for op, kernels in self._kernels.items()}
        return other

    def kernels(self, op: str) -> tuple[Kernel, ...]:
        """The kernel records of an op."""
        _declared(op)
        return tuple(self._kernels[op])

    def check_settings(self) -> None:
        """Refuse a kernel in XGR_KERNEL that this backend, by its name, should have and lacks.

        Names of others are left to them: of other devices, and of packages that register later.

        Raises:
            InputError: with the known kernels of the op.
        """
        for op, name in self._settings.kernels.items():
            known = [k.name for k in self._kernels[op]]
            known += [COMPOSED] if spec(op).composed_of else []
            owner, dot, _ = name.partition(".")
            if name not in known and (not dot or owner == self.backend.name):
                listed = ", ".join(known) or "none"
                raise InputError(f"XGR_KERNEL: {name!r} is no kernel of {op}; known: {listed}")

    # -- choice -------------------------------------------------------------------------------

    def bind(self, op: str, problem: Problem, kernel: str | None = None) -> Bound:
        """Select, check and build the kernel of a problem; cached per problem.

        Raises:
            InputError: the problem is not one of the op.
            Unsupported: no kernel can run it, or the forced one cannot, with every reason.
        """
        key = (problem, kernel)
        kept = self._bound.get(key)
        if kept is None or problem.op != op:
            kept = self._bound.keep(key, self._build(self.choose(op, problem, kernel)))
        else:
            kept.at = self._bound.tick()
        return kept.value

    def choose(self, op: str, problem: Problem, kernel: str | None = None) -> Choice:
        """How a bind would choose; nothing is built, nor are the parts of a composition looked at.

        Raises:
            InputError: as `bind`.
            Unsupported: no kernel can run it and it is made of no others, or the forced one cannot.
        """
        declared = _declared(op)
        if problem.op != op:
            raise InputError(f"{op} was given a problem of {problem.op!r}")
        declared.check(problem)
        return select(
            declared,
            problem,
            self._kernels[problem.op],
            arch=self.backend.arch,
            cores=self.backend.cores,
            argument=kernel,
            env=self._settings.kernels,
            tables=self._tables,
            deterministic=self._settings.deterministic,
        )

    def choices(self) -> list[Choice]:
        """How the kernel of every op that is bound now was chosen."""
        return [kept.value.choice for kept in self._bound.values()]

    def explain(self, op: str, problem: Problem, kernel: str | None = None) -> Explanation:
        """Every candidate of a problem: chosen, beaten or unsupported, and why."""
        return replace(self._explain(op, problem, kernel), refused_tables=self._tables.refused)

    def _explain(self, op: str, problem: Problem, kernel: str | None = None) -> Explanation:
        choice = self.choose(op, problem, kernel)
        posed = parts_of(problem) if choice.parts else ()
        with naming(problem):
            parts = [self._explain(part.op, part) for part in posed]
        tuned = (op, problem.dtype) in self._tables.by_key
        outline = None
        if choice.kernel is not None:
            outline = self.backend.outline(choice.kernel, choice.problem, choice.config)
        return Explanation(choice, parts, has_table=tuned, outline=outline)

    def problem(self, op: str, **arguments: Any) -> Problem:
        """The problem that a call with these arguments poses.

        Raises:
            InputError: an argument is missing or unknown, or has another type, dtype or shape
                than the op declares.
        """
        return self._pose(_declared(op), arguments)

    def __getattr__(self, op: str) -> Callable[..., None]:
        if op.startswith("_") or op not in specs():
            raise AttributeError(
                f"Runtime has no attribute and xgr no op {op!r}; ops: {', '.join(specs())}"
            )
        declared = specs()[op]

        def pose(arguments: Mapping[str, Any], kernel: str | None) -> Bound:
            return self.bind(op, self._pose(declared, arguments), kernel)

        kept: Recent[Any, Bound] = Recent(CAPACITY)
        self._quick.append(kept)
        call = convenience(declared, pose, kept)
        setattr(self, op, call)
        return call

    def _pose(self, declared: OpSpec, arguments: Mapping[str, Any]) -> Problem:
        problem = declared.problem(arguments, MODEL_DTYPES[0])  # of any dtype: checks the rest
        model = ""
        for arg, array in declared.tensors(arguments):
            try:
                given = self.backend.dtype_of(array).name
            except (AttributeError, ValueError) as error:
                raise InputError(f"{declared.name}: {arg.name}: {error}") from None
            if arg.dtype == "model" and not model:
                model = given
                if model not in MODEL_DTYPES:
                    allowed = ", ".join(MODEL_DTYPES)
                    raise InputError(f"{declared.name}: {arg.name} is {model}, allowed: {allowed}")
            need = model if arg.dtype == "model" else arg.dtype
            if given != need:
                raise InputError(f"{declared.name}: {arg.name} is {given}, need {need}")
        return replace(problem, dtype=model or problem.dtype)

    def _build(self, choice: Choice) -> Bound:
        context = BoundContext(self, choice.config)
        if choice.kernel is None:
            return bound(choice, compose(choice, context))
        return bound(choice, choice.kernel.build(choice.problem, context))

    def _full(self, shape: tuple[int, ...], kind: str, error: MemoryError) -> OutOfMemory:
        return OutOfMemory(
            f"{self.device} has no room for an array of shape {shape} in {kind} ({error}): "
            "free memory of the device, or take a smaller model, dtype or limits of the engine"
        )

    # -- the backend's arrays, order and memory -----------------------------------------------

    def empty(self, shape: Sequence[int], dtype: DType) -> Array:
        """Uninitialised array of the backend, contiguous.

        Raises:
            OutOfMemory: the device has no room for it.
        """
        try:
            return self.backend.empty(shape, dtype)
        except MemoryError as error:
            raise self._full(tuple(shape), dtype.name, error) from error

    def scratch(self, shape: Sequence[int], dtype: DType) -> Array:
        """Uninitialised array in memory that bound ops of this runtime share, one launch at a time.

        It grows by doubling; what has been given stays where it is.

        Raises:
            OutOfMemory: the device has no room for it.
        """
        size, held = math.prod(shape), self._scratch.get(dtype.name)
        if held is None or held.shape[0] < size:
            held = self.empty((1 << max(size - 1, 0).bit_length(),), dtype)
            self._scratch[dtype.name] = held
        given: Array = held[:size].reshape(tuple(shape))
        return given

    def upload(self, host: Any, dtype: DType | None = None) -> Array:
        """Copy of a host array or nested sequence.

        Raises:
            OutOfMemory: the device has no room for it.
        """
        try:
            return self.backend.upload(host, dtype)
        except MemoryError as error:
            import numpy as np  # xgr itself is imported without it

            kind = getattr(dtype or getattr(host, "dtype", None), "name", "its dtype")
            raise self._full(np.shape(host), kind, error) from error

    def write(self, target: Array, host: Any) -> None:
        """Copy host values into an array or view."""
        self.backend.write(target, host)

    def writer(self, target: Array) -> Callable[[Any], None]:
        """What copies host values to the first elements of an array, time after time."""
        return self.backend.writer(target)

    def fetch(self, array: Array) -> Any:
        """NumPy copy of an array."""
        return self.backend.fetch(array)

    def fetch_later(self, arrays: Sequence[Array]) -> Callable[[], list[Any]]:
        """NumPy copies of arrays as the launches so far leave them, once they are waited for."""
        return self.backend.fetch_later(arrays)

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


def _declared(op: str, where: str = "") -> OpSpec:
    try:
        return spec(op)
    except ValueError as error:
        raise InputError(f"{where}{error}") from None
