"""An oracle for views and writes that knows nothing of polygrad: cells, index maps, forward-mode
Jacobians.

A *storage* is a vector of cells. A *face* is one history over a storage: it holds a Jacobian row
for every cell. A modelled tensor is (storage, face, index map); a view is a NumPy view of the index
map. A random program is run on polygrad and on the model, and both must agree on values,
`requires_grad` and gradients. """

from __future__ import annotations

import numpy as np

import polygrad as pg

SHAPES = [(4,), (2, 3), (3, 2), (2, 2, 2), (6,), (1, 4)]


class Storage:
    def __init__(self, values):
        self.values = np.array(values, dtype=np.float64).reshape(-1)


class Face:
    def __init__(self, storage, width, tracked):
        self.storage, self.tracked, self.leaf = storage, tracked, False
        self.rows = np.zeros((storage.values.size, width))


class Model:
    """One modelled tensor."""

    def __init__(self, face, index, overlaps=False, frozen=False):
        self.face, self.index, self.overlaps, self.frozen = face, index, overlaps, frozen

    @property
    def values(self):
        return self.face.storage.values[self.index]

    @property
    def rows(self):
        rows = self.face.rows[self.index]
        return np.zeros_like(rows) if self.frozen else rows

    @property
    def tracked(self):
        return self.face.tracked and not self.frozen

    def view(self, index, overlaps=False, recording=True):
        frozen = self.frozen or (self.face.tracked and not recording)
        return Model(self.face, index, self.overlaps or overlaps, frozen)


def fresh(values, rows, tracked):
    storage = Storage(values)
    face = Face(storage, rows.shape[-1], tracked)
    face.rows[:] = rows.reshape(face.rows.shape)
    return Model(face, np.arange(storage.values.size).reshape(np.shape(values)))


class Program:
    """A random program over both worlds."""

    def __init__(self, seed, device="cpu"):
        self.r = np.random.default_rng(seed)
        self.device = device
        self.width = 8
        self.pairs, self.leaves, used = [], [], 0
        self.log = []
        for _ in range(2):
            shape = [(4,), (2, 2)][self.r.integers(2)]
            values = self.r.uniform(-1, 1, shape)
            rows = np.zeros((4, self.width))
            rows[:, used : used + 4] = np.eye(4)
            t = pg.tensor(values, device=device, requires_grad=True)
            m = fresh(values, rows, tracked=True)
            m.face.leaf = True
            used += 4
            self.leaves.append(t)
            self.pairs.append((t, m))
        values = self.r.uniform(-1, 1, SHAPES[self.r.integers(len(SHAPES))])
        self.pairs.append(
            (pg.tensor(values, device=device), fresh(values, self.zeros(values), False))
        )

    def zeros(self, values):
        return np.zeros((np.size(values), self.width))

    def pick(self, recent=True):
        n = len(self.pairs)
        low = max(0, n - 5) if recent and self.r.uniform() < 0.6 else 0
        return self.pairs[self.r.integers(low, n)]

    def step(self):
        kind = self.r.choice(
            [
                "view",
                "view",
                "view",
                "write",
                "write",
                "inplace",
                "inplace",
                "unary",
                "binary",
                "detach",
                "drop",
            ]
        )
        getattr(self, "do_" + kind)()

    # ---- views
    def do_view(self):
        t, m = self.pick()
        recording = self.r.uniform() < 0.9
        with pg.set_grad_enabled(recording):
            out, index, overlaps = self.some_view(t, m)
        self.pairs.append(
            (out, m.view(index, overlaps, recording))
            if overlaps is not None
            else (out, fresh(m.values.reshape(index.shape), m.rows, m.tracked and recording))
        )

    def some_view(self, t, m):
        i, r = m.index, self.r
        kind = r.choice(["slice", "int", "T", "reshape", "permute", "none", "broadcast", "step"])
        self.log.append(kind)
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

    def apply(self, m, index, values, rows, tracked, recording):
        face = m.face
        face.storage.values[index] = values
        if recording and (tracked or face.tracked):
            face.rows[index] = rows
            face.tracked = True

    def operand(self, shape):
        """A number, or a pair whose shape is or broadcasts to `shape`."""
        found = [p for p in self.pairs if p[1].index.shape == shape]
        if not found or self.r.uniform() < 0.3:
            number = float(self.r.uniform(-1, 1))
            return number, fresh(
                np.full(shape, number), np.zeros((int(np.prod(shape)), self.width)), False
            )
        return found[self.r.integers(len(found))]

    def do_write(self):
        t, m = self.pick()
        recording = self.r.uniform() < 0.8
        key = self.some_key(m.index)
        part = m.index[key]
        value, v = self.operand(part.shape)
        self.log.append(("write", key, recording))
        values, rows, tracked = v.values.copy(), v.rows.copy(), v.tracked
        ours = tuple(
            pg.tensor(k, device=self.device) if isinstance(k, np.ndarray) else k for k in key
        )

        def write():
            t[ours] = value

        if self.attempt(m, recording, write):
            self.apply(m, part, values, rows, tracked, recording)

    def some_key(self, i):
        kinds = [(Ellipsis,)]
        if i.ndim:
            kinds += [(slice(1, None),), (slice(None, None, -1),)]
        if i.ndim and i.shape[0]:
            n = i.shape[0]
            kinds += [
                (int(self.r.integers(n)),),
                (self.r.permutation(n)[: max(1, n // 2)],),
                (self.r.uniform(size=n) < 0.5,),
            ]
        return kinds[self.r.integers(len(kinds))]

    def do_inplace(self):
        t, m = self.pick()
        recording = self.r.uniform() < 0.8
        value, v = self.operand(m.index.shape)
        op = self.r.choice(["add", "mul"])
        self.log.append(("inplace", op, recording))
        a, b, ra, rb = m.values.copy(), v.values.copy(), m.rows.copy(), v.rows.copy()
        tracked = v.tracked

        def write():
            nonlocal t
            if op == "add":
                t += value
            else:
                t *= value

        if self.attempt(m, recording, write):
            rows = ra + rb if op == "add" else ra * b[..., None] + rb * a[..., None]
            self.apply(m, m.index, a + b if op == "add" else a * b, rows, tracked, recording)

    # ---- arithmetic
    def do_unary(self):
        t, m = self.pick()
        self.pairs.append(
            (pg.sin(t), fresh(np.sin(m.values), np.cos(m.values)[..., None] * m.rows, m.tracked))
        )

    def do_binary(self):
        t, m = self.pick()
        u, v = self.operand(m.index.shape)
        rows = m.rows * v.values[..., None] + v.rows * m.values[..., None]
        self.pairs.append((t * u, fresh(m.values * v.values, rows, m.tracked or v.tracked)))

    def do_detach(self):
        t, m = self.pick()
        face = Face(m.face.storage, self.width, tracked=False)
        self.pairs.append((t.detach(), Model(face, m.index, m.overlaps)))

    def do_drop(self):
        if len(self.pairs) > 5:
            del self.pairs[self.r.integers(2, len(self.pairs))]

    # ---- judgement
    def check(self, create_graph=False):
        """Values, flags and gradients of everything alive."""
        total = None
        want = np.zeros(self.width)
        for t, m in self.pairs:
            np.testing.assert_allclose(
                pg.asarray(t).detach().numpy(), m.values, atol=1e-12, err_msg=str(self.log)
            )
            assert t.requires_grad == m.tracked, self.log
            if m.tracked and m.index.size:
                w = self.r.uniform(0.5, 1.5, m.index.shape)
                part = pg.sum(t * pg.tensor(w, device=self.device))
                total = part if total is None else total + part
                want += (w[..., None] * m.rows).reshape(-1, self.width).sum(axis=0)
        if total is None:
            return
        found = pg.autograd.grad(
            total, self.leaves, create_graph=create_graph, materialize_grads=True
        )
        got = np.concatenate([g.detach().numpy().reshape(-1) for g in found])
        np.testing.assert_allclose(got, want, atol=1e-10, err_msg=str(self.log))


def run_program(seed, device="cpu", steps=14, create_graph=False):
    """One program; values are read along the way only sometimes, so that views stay stale."""
    program = Program(seed, device)
    for _ in range(steps):
        program.step()
        if program.r.uniform() < 0.2:
            t, m = program.pick()
            np.testing.assert_allclose(
                t.detach().numpy(), m.values, atol=1e-12, err_msg=str(program.log)
            )
    program.check(create_graph)
    return program
