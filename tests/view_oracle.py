"""An oracle for views and writes that knows nothing of polygrad: cells, index maps, forward mode.

A *storage* is a vector of cells. A *face* is one history over a storage: it holds a *jet* for every
cell, its first and second derivatives by the elements of the leaves. A modelled tensor is (storage,
face, index map); a view is a NumPy view of the index map. A random program is run on polygrad and
on the model, and both must agree on values, `requires_grad`, gradients and second derivatives.

`python -m tests.view_oracle --programs 20000 --device jax:cpu:0` runs many; so does `make views`.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time

import numpy as np

import polygrad as pg
from polygrad.tape import Node
from polygrad.tensor import Tensor
from polygrad.views import View

SHAPES = [(4,), (2, 3), (3, 2), (2, 2, 2), (6,), (1, 4)]
WIDTH = 8  # elements of the two leaves
JET = WIDTH + WIDTH * WIDTH  # a gradient, then a Hessian row by row


# ---- jets ------------------------------------------------------------------------------------
def outer(a, b):
    return (a[..., :WIDTH, None] * b[..., None, :WIDTH]).reshape(*a.shape[:-1], WIDTH * WIDTH)


def product(a, b, da, db):
    """The jets of a * b, from the values and jets of both."""
    made = da * b[..., None] + db * a[..., None]
    made[..., WIDTH:] += outer(da, db) + outer(db, da)
    return made


def sine(a, da):
    made = np.cos(a)[..., None] * da
    made[..., WIDTH:] -= np.sin(a)[..., None] * outer(da, da)
    return made


def quotient(a, b, da, db):
    """The jets of a / b: those of the product with 1 / b."""
    inverse = -db / (b * b)[..., None]
    inverse[..., WIDTH:] += 2 * outer(db, db) / (b * b * b)[..., None]
    return product(a, 1 / b, da, inverse)


# ---- the model -------------------------------------------------------------------------------
class Storage:
    def __init__(self, values):
        self.values = np.array(values, dtype=np.float64).reshape(-1)


class Face:
    def __init__(self, storage, tracked):
        self.storage, self.tracked, self.leaf = storage, tracked, False
        self.jets = np.zeros((storage.values.size, JET))


class Model:
    """One modelled tensor."""

    def __init__(self, face, index, overlaps=False, frozen=False):
        self.face, self.index, self.overlaps, self.frozen = face, index, overlaps, frozen

    @property
    def values(self):
        return self.face.storage.values[self.index]

    @property
    def jets(self):
        jets = self.face.jets[self.index]
        return np.zeros_like(jets) if self.frozen else jets

    @property
    def tracked(self):
        return self.face.tracked and not self.frozen

    def view(self, index, overlaps=False, recording=True):
        frozen = self.frozen or (self.face.tracked and not recording)
        return Model(self.face, index, self.overlaps or overlaps, frozen)


def fresh(values, jets, tracked):
    storage = Storage(values)
    face = Face(storage, tracked)
    face.jets[:] = jets.reshape(face.jets.shape)
    return Model(face, np.arange(storage.values.size).reshape(np.shape(values)))


def constant(values):
    return fresh(values, np.zeros((np.size(values), JET)), tracked=False)


# ---- programs --------------------------------------------------------------------------------
STEPS = (
    ["view"] * 3 + ["write"] * 2 + ["update"] + ["inplace"] * 2
    + ["gather", "unary", "transposed", "binary", "detach", "alias", "drop"]
)  # fmt: skip


class Program:
    """A random program over both worlds."""

    def __init__(self, seed, device="cpu"):
        self.r = np.random.default_rng(seed)
        self.device = device
        self.pairs, self.leaves = [], []
        self.log = []
        for i in range(2):
            shape = [(4,), (2, 2)][self.r.integers(2)]
            values = self.r.uniform(-1, 1, shape)
            jets = np.zeros((4, JET))
            jets[:, 4 * i : 4 * i + 4] = np.eye(4)
            t = pg.tensor(values, device=device, requires_grad=True)
            m = fresh(values, jets, tracked=True)
            m.face.leaf = True
            self.leaves.append(t)
            self.pairs.append((t, m))
        values = self.r.uniform(-1, 1, SHAPES[self.r.integers(len(SHAPES))])
        self.pairs.append((pg.tensor(values, device=device), constant(values)))

    def pick(self):
        n = len(self.pairs)
        low = max(0, n - 5) if self.r.uniform() < 0.6 else 0
        return self.pairs[self.r.integers(low, n)]

    def step(self):
        getattr(self, "do_" + self.r.choice(STEPS))()

    # ---- views
    def do_view(self):
        t, m = self.pick()
        recording = self.r.uniform() < 0.9
        with pg.set_grad_enabled(recording):
            out, index, overlaps = self.some_view(t, m)
        if overlaps is not None:
            made = m.view(index, overlaps, recording)
        elif recording:
            made = fresh(m.values.reshape(index.shape), m.jets, m.tracked)
        else:
            made = constant(m.values.reshape(index.shape))
        self.pairs.append((out, made))

    def some_view(self, t, m):
        i, r = m.index, self.r
        kind = r.choice(["slice", "int", "T", "reshape", "permute", "none", "broadcast", "step"])
        self.log.append(str(kind))
        if kind == "slice" and i.ndim:
            return t[1:], i[1:], False
        if kind == "step" and i.ndim:
            return t[..., ::-1], i[..., ::-1], False
        if kind == "int" and i.ndim and i.shape[0]:
            k = int(r.integers(-i.shape[0], i.shape[0]))
            return t[k], i[k, ...], False
        if kind == "T" and i.ndim == 2:
            return t.T, i.T, False
        if kind == "permute" and i.ndim:
            axes = tuple(int(a) for a in r.permutation(i.ndim))
            return pg.permute_dims(t, axes), i.transpose(axes), False
        if kind == "none":
            return t[None], i[None], False
        if kind == "broadcast" and i.ndim == 1 and i.size:
            return pg.broadcast_to(t, (2, *i.shape)), np.broadcast_to(i, (2, *i.shape)), True
        shapes = [
            s
            for s in [(i.size,), (i.size, 1), (2, i.size // 2), (i.size // 2, 2)]
            if np.prod(s) == i.size
        ]
        shape = shapes[r.integers(len(shapes))]
        self.log.append(shape)
        out = pg.reshape(t, shape)
        made = i.reshape(shape)
        # A view iff the strides of a C-ordered root allow it; the index map has just those.
        return out, made, False if np.shares_memory(made, i) or not i.size else None

    # ---- writes
    def refuses(self, m, recording):
        if m.overlaps:
            return True
        return recording and m.face.tracked and (m.face.leaf or m.frozen)

    def attempt(self, m, recording, write):
        """Run a write on polygrad; say whether the model should follow."""
        refused = self.refuses(m, recording)
        try:
            with pg.set_grad_enabled(recording):
                write()
        except pg.PolygradError:
            assert refused, f"refused a legal write: {self.log}"
            return False
        assert not refused, f"made an illegal write: {self.log}"
        return True

    def apply(self, m, index, values, jets, tracked, recording):
        face = m.face
        face.storage.values[index] = values  # of equal places the last write stays
        if recording and (tracked or face.tracked):
            face.jets[index] = jets
            face.tracked = True

    def operand(self, shape):
        """A number, or a pair of `shape`."""
        found = [p for p in self.pairs if p[1].index.shape == shape]
        if not found or self.r.uniform() < 0.3:
            number = float(self.r.uniform(-1, 1))
            return number, constant(np.full(shape, number))
        return found[self.r.integers(len(found))]

    def some_key(self, i):
        """A key as NumPy takes it, and the same for polygrad."""
        kinds = [(Ellipsis,)]
        if i.ndim:
            kinds += [(slice(1, None),), (slice(None, None, -1),)]
        if i.ndim and i.shape[0]:
            n = i.shape[0]
            kinds += [
                (int(self.r.integers(n)),),
                (self.r.permutation(n)[: max(1, n // 2)],),
                (self.r.integers(-n, n, 2),),
                (self.r.uniform(size=n) < 0.5,),
            ]
        key = kinds[self.r.integers(len(kinds))]
        return key, tuple(
            pg.tensor(k, device=self.device) if isinstance(k, np.ndarray) else k for k in key
        )

    def do_write(self):
        t, m = self.pick()
        recording = self.r.uniform() < 0.8
        key, ours = self.some_key(m.index)
        part = m.index[key]
        value, v = self.operand(part.shape)
        self.log.append(("write", key, recording))
        values, jets, tracked = v.values.copy(), v.jets.copy(), v.tracked

        def write():
            t[ours] = value

        if self.attempt(m, recording, write):
            self.apply(m, part, values, jets, tracked, recording)

    def do_update(self):
        """`t[key] += value`: what was read is a view or a copy, as the key says."""
        t, m = self.pick()
        recording = self.r.uniform() < 0.8
        key, ours = self.some_key(m.index)
        part = m.index[key]
        value, v = self.operand(part.shape)
        self.log.append(("update", key, recording))
        frozen = m.frozen or (m.face.tracked and not recording)
        jets = v.jets + (0 if frozen else m.face.jets[part])
        values, tracked = m.values[key] + v.values, v.tracked or (m.face.tracked and not frozen)

        def write():
            t[ours] += value

        if self.attempt(m, recording, write):
            self.apply(m, part, values, jets, tracked, recording)

    def do_inplace(self):
        t, m = self.pick()
        recording = self.r.uniform() < 0.8
        value, v = self.operand(m.index.shape)
        op = self.r.choice(["add", "sub", "mul", "div"])
        a, b, ja, jb = m.values.copy(), v.values.copy(), m.jets.copy(), v.jets.copy()
        if op == "div" and np.any(np.abs(b) < 0.2):
            op = "sub"  # so that second derivatives stay moderate
        self.log.append(("inplace", str(op), recording))
        tracked = v.tracked

        def write():
            nonlocal t
            if op == "add":
                t += value
            elif op == "sub":
                t -= value
            elif op == "mul":
                t *= value
            else:
                t /= value

        if self.attempt(m, recording, write):
            values, jets = {
                "add": lambda: (a + b, ja + jb),
                "sub": lambda: (a - b, ja - jb),
                "mul": lambda: (a * b, product(a, b, ja, jb)),
                "div": lambda: (a / b, quotient(a, b, ja, jb)),
            }[op]()
            self.apply(m, m.index, values, jets, tracked, recording)

    # ---- arithmetic
    def do_gather(self):
        """A copy of some elements, one perhaps several times."""
        t, m = self.pick()
        if m.index.ndim and m.index.shape[0]:
            key = (self.r.integers(-m.index.shape[0], m.index.shape[0], 3),)
            made = fresh(m.values[key], m.jets[key], m.tracked)
            self.pairs.append((t[pg.tensor(key[0], device=self.device)], made))

    def do_unary(self):
        t, m = self.pick()
        self.pairs.append((pg.sin(t), fresh(np.sin(m.values), sine(m.values, m.jets), m.tracked)))

    def do_transposed(self):
        """A result whose memory is not in C order, and a view of it that may have to copy there."""
        found = [p for p in self.pairs if p[1].index.ndim == 2]
        if not found:
            return
        t, m = found[self.r.integers(len(found))]
        values, jets = m.values.T, m.jets.swapaxes(0, 1)
        made = fresh(np.sin(values), sine(values, jets), m.tracked)
        self.pairs.append((pg.sin(t.T), made))
        if self.r.uniform() < 0.5:
            t, shape = self.pairs[-1][0], (values.size,)
            self.pairs.append((pg.reshape(t, shape), made.view(made.index.reshape(shape))))

    def do_binary(self):
        t, m = self.pick()
        u, v = self.operand(m.index.shape)
        jets = product(m.values, v.values, m.jets, v.jets)
        self.pairs.append((t * u, fresh(m.values * v.values, jets, m.tracked or v.tracked)))

    def do_detach(self):
        t, m = self.pick()
        face = Face(m.face.storage, tracked=False)
        self.pairs.append((t.detach(), Model(face, m.index, m.overlaps)))

    def do_alias(self):
        """A view of a detached view; then something tracked is written into the alias."""
        found = [p for p in self.pairs if p[1].index.ndim and p[1].index.shape[0] > 1]
        t, m = found[self.r.integers(len(found))]
        if m.overlaps:
            return
        alias = Model(Face(m.face.storage, tracked=False), m.index[1:])
        d = t[1:].detach()
        self.pairs += [(d, alias), (d[..., ::-1], alias.view(alias.index[..., ::-1]))]
        shape = alias.index.shape
        tracked = [p for p in self.pairs if p[1].tracked and p[1].index.shape == shape]
        if tracked:
            u, v = tracked[self.r.integers(len(tracked))]
            self.log.append("alias")
            values, jets = v.values.copy(), v.jets.copy()
            d[...] = u
            self.apply(alias, alias.index, values, jets, tracked=True, recording=True)

    def do_drop(self):
        if len(self.pairs) > 5:
            del self.pairs[self.r.integers(2, len(self.pairs))]

    # ---- judgement
    def check(self, create_graph=False):
        """Values, flags and gradients of everything alive; second derivatives if they are asked."""
        total = None
        want = np.zeros(JET)
        for t, m in self.pairs:
            self.compare(pg.asarray(t), m.values, 1e-12)
            assert t.requires_grad == m.tracked, self.log
            if m.tracked and m.index.size:
                w = self.r.uniform(0.5, 1.5, m.index.shape)
                part = pg.sum(t * pg.tensor(w, device=self.device))
                total = part if total is None else total + part
                want += (w[..., None] * m.jets).reshape(-1, JET).sum(axis=0)
        if total is None:
            return
        found = pg.autograd.grad(
            total, self.leaves, create_graph=create_graph, materialize_grads=True
        )
        self.compare_flat(found, want[:WIDTH], 1e-10)
        if not create_graph:
            return
        hessian = want[WIDTH:].reshape(WIDTH, WIDTH)
        u = self.r.uniform(0.5, 1.5, WIDTH)
        parts = [
            pg.sum(g * pg.tensor(v.reshape(g.shape), device=self.device))
            for g, v in zip(found, (u[:4], u[4:]), strict=True)
            if g.requires_grad
        ]
        if parts:
            total = parts[0] if len(parts) == 1 else parts[0] + parts[1]
            found = pg.autograd.grad(total, self.leaves, materialize_grads=True)
            self.compare_flat(found, hessian @ u, 1e-9)
        else:
            np.testing.assert_allclose(hessian @ u, 0, atol=1e-9, err_msg=str(self.log))

    def compare_flat(self, found, want, rtol):
        got = np.concatenate([g.detach().numpy().reshape(-1) for g in found])
        scale = max(1.0, float(np.max(np.abs(want))))
        np.testing.assert_allclose(got, want, rtol=0, atol=rtol * scale, err_msg=str(self.log))

    def compare(self, t, want, atol):
        got = t.detach().numpy()
        np.testing.assert_allclose(got, want, rtol=1e-11, atol=atol, err_msg=str(self.log))


def run_program(seed, device="cpu", steps=14, create_graph=False):
    """One program; values are read along the way only sometimes, so that views stay stale."""
    program = Program(seed, device)
    for _ in range(steps):
        program.step()
        if program.r.uniform() < 0.2:
            t, m = program.pick()
            with pg.set_grad_enabled(program.r.uniform() < 0.5):
                program.compare(t, m.values, 1e-12)
    program.check(create_graph)
    return program


# ---- many programs ---------------------------------------------------------------------------
def alive():
    """The tensors, nodes and views there are."""
    return sum(type(o) in (Tensor, Node, View) for o in gc.get_objects())


def run_programs(seeds, device="cpu", create_graph=False, block=250):
    """Programs with the garbage collector off; after each block nothing of them may be left."""
    seeds = list(seeds)
    collects = gc.isenabled()
    run_program(seeds[0], device, create_graph=create_graph)  # what is made once stays
    gc.collect()
    gc.disable()
    try:
        before = alive()
        for start in range(0, len(seeds), block):
            for seed in seeds[start : start + block]:
                try:
                    run_program(seed, device, create_graph=create_graph)
                except BaseException as error:
                    error.add_note(f"seed {seed}, create_graph={create_graph}, on {device}")
                    raise
            left = alive() - before
            assert not left, f"{left} objects left by seeds {seeds[start : start + block]}"
            gc.collect()  # of what the array libraries leave
    finally:
        if collects:
            gc.enable()


def main(arguments):
    parser = argparse.ArgumentParser("view_oracle", description="Random programs of views, writes.")
    parser.add_argument("--programs", type=int, default=20_000)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--seed", type=int, default=1_000_000, help="the first one")
    parser.add_argument("--create-graph", action="store_true", help="second derivatives too")
    given = parser.parse_args(arguments)
    start = time.perf_counter()
    seeds = range(given.seed, given.seed + given.programs)
    run_programs(seeds, given.device, given.create_graph)
    seconds = time.perf_counter() - start
    orders = "first and second derivatives" if given.create_graph else "gradients"
    sys.stdout.write(
        f"{given.device}: {given.programs} programs equal the oracle, values and {orders}; "
        f"nothing left with the collector off ({seconds:.0f} s)\n"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
