"""Schedules: each against its closed form, resumed at any epoch, and in combination."""

from __future__ import annotations

import math

import pytest

import polygrad as pg
from polygrad.errors import InvalidArgumentError, InvalidTypeError
from polygrad.optim import lr_scheduler as s

EPOCHS = 24


def optimizer(name="SGD", **options):
    ps = [pg.nn.Parameter(pg.zeros(1)) for _ in range(2)]
    groups = [{"params": [ps[0]]}, {"params": [ps[1]], "lr": 0.25}]
    return getattr(pg.optim, name)(groups, lr=1.0, **options)


def cosine(low, base, share):
    return low + (base - low) * (1 + math.cos(math.pi * share)) / 2


def restarts(base, t):
    length = 3
    while t >= length:
        t -= length
        length *= 2
    return cosine(0.01, base, t / length)


def one_cycle(t, three_phase):
    top, first, last = 2.0, 2.0 / 25, 2.0 / 25 / 1e4
    up, end = 0.3 * EPOCHS - 1, EPOCHS - 1
    ends = [(up, first, top), (2 * up, top, first), (end, first, last)]
    if not three_phase:
        ends = [(up, first, top), (end, top, last)]
    start = 0.0
    for stop, a, b in ends:
        if t <= stop or stop == end:
            return cosine(b, a, (t - start) / (stop - start))
        start = stop
    raise AssertionError


def triangle(t, up, down):
    t %= up + down
    return t / up if t <= up else 1 - (t - up) / down


FORMS = {
    "step": (lambda o: s.StepLR(o, 3, 0.5), lambda b, t: b * 0.5 ** (t // 3)),
    "milestones": (
        lambda o: s.MultiStepLR(o, [2, 2, 7], 0.5),
        lambda b, t: b * 0.5 ** (2 * (t >= 2) + (t >= 7)),
    ),
    "constant": (lambda o: s.ConstantLR(o, 0.25, 4), lambda b, t: b * (0.25 if t < 4 else 1)),
    "linear": (
        lambda o: s.LinearLR(o, 0.1, 0.9, 8), lambda b, t: b * (0.1 + 0.8 * min(t, 8) / 8),
    ),
    "exponential": (lambda o: s.ExponentialLR(o, 0.9), lambda b, t: b * 0.9**t),
    "polynomial": (
        lambda o: s.PolynomialLR(o, 10, 2.0), lambda b, t: b * (1 - min(t, 10) / 10) ** 2,
    ),
    "cosine": (
        lambda o: s.CosineAnnealingLR(o, 7, 0.01), lambda b, t: cosine(0.01, b, t / 7),
    ),
    "restarts": (lambda o: s.CosineAnnealingWarmRestarts(o, 3, 2, 0.01), restarts),
    "lambda": (
        lambda o: s.LambdaLR(o, [lambda e: 1 / (1 + e), lambda e: 0.5**e]),
        lambda b, t: b / (1 + t) if b == 1 else b * 0.5**t,
    ),
    "multiplicative": (lambda o: s.MultiplicativeLR(o, lambda e: 0.9), lambda b, t: b * 0.9**t),
    "one cycle": (
        lambda o: s.OneCycleLR(o, 2.0, total_steps=EPOCHS, cycle_momentum=False),
        lambda b, t: one_cycle(t, three_phase=False),
    ),
    "three phases": (
        lambda o: s.OneCycleLR(o, 2.0, epochs=4, steps_per_epoch=6, three_phase=True,
                               cycle_momentum=False),
        lambda b, t: one_cycle(t, three_phase=True),
    ),
    "cyclic": (
        lambda o: s.CyclicLR(o, 0.1, 1.1, 4, 2, cycle_momentum=False),
        lambda b, t: 0.1 + triangle(t, 4, 2),
    ),
    "cyclic halved": (
        lambda o: s.CyclicLR(o, 0.1, 1.1, 3, mode="triangular2", cycle_momentum=False),
        lambda b, t: 0.1 + triangle(t, 3, 3) / 2 ** (t // 6),
    ),
    "cyclic decaying": (
        lambda o: s.CyclicLR(o, 0.1, 1.1, 3, mode="exp_range", gamma=0.9, cycle_momentum=False),
        lambda b, t: 0.1 + triangle(t, 3, 3) * 0.9**t,
    ),
    "sequence": (
        lambda o: s.SequentialLR(o, [s.ConstantLR(o, 0.5, 9), s.ExponentialLR(o, 0.5)], [4]),
        lambda b, t: b * 0.5 if t < 4 else b * 0.5 ** (t - 4),
    ),
    "chain": (
        lambda o: s.ChainedScheduler([s.ConstantLR(o, 0.5, 4), s.ExponentialLR(o, 0.9)]),
        lambda b, t: b * 0.9**t * (0.5 if t < 4 else 1),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("resume", [None, 1, 5, 13])
def test_closed_form_and_resuming(name, resume):
    make, form = FORMS[name]
    o = optimizer()
    schedule = make(o)
    for t in range(EPOCHS):
        if t == resume:
            states = o.state_dict(), schedule.state_dict()
            o = optimizer()
            schedule = make(o)
            o.load_state_dict(states[0])
            schedule.load_state_dict(states[1])
        rates = [g["lr"] for g in o.param_groups]
        assert rates == pytest.approx([form(1.0, t), form(0.25, t)], rel=1e-9, abs=1e-9), t
        assert schedule.get_last_lr() == rates
        o.step()
        if t < EPOCHS - 1:
            schedule.step()


def test_momentum_cycles_against_the_rate():
    for name, read in (
        ("SGD", lambda g: g["momentum"]), ("Adam", lambda g: g["betas"][0]),
    ):  # fmt: skip
        o = optimizer(name, **({"momentum": 0.5} if name == "SGD" else {}))
        schedule = s.OneCycleLR(o, 1.0, total_steps=10, anneal_strategy="linear")
        assert read(o.param_groups[0]) == pytest.approx(0.95)
        for _ in range(2):
            o.step()
            schedule.step()
        assert read(o.param_groups[0]) == pytest.approx(0.85)
        o = optimizer(name, **({"momentum": 0.5} if name == "SGD" else {}))
        schedule = s.CyclicLR(o, 0.1, 1.0, 2)
        assert read(o.param_groups[0]) == pytest.approx(0.9)
        o.step()
        schedule.step()
        assert read(o.param_groups[0]) == pytest.approx(0.85)


def test_warm_restarts_take_fractions():
    o = optimizer()
    schedule = s.CosineAnnealingWarmRestarts(o, 3, 2, 0.01)
    o.step()
    for t in (0.0, 0.5, 2.75, 3.25, 8.9, 9.0, 20.6):
        schedule.step(t)
        assert schedule.get_last_lr()[0] == pytest.approx(restarts(1.0, t), rel=1e-9)
    with pytest.raises(InvalidArgumentError, match="negative"):
        schedule.step(-1)


@pytest.mark.parametrize(
    ("options", "metrics", "rates"),
    [
        ({"patience": 1, "factor": 0.1}, [5, 4, 4, 4, 4, 4], [1, 1, 1, 0.1, 0.1, 0.01]),
        ({"patience": 0, "mode": "max", "factor": 0.5}, [1, 2, 1, 3, 3], [1, 1, 0.5, 0.5, 0.25]),
        ({"patience": 0, "cooldown": 2, "factor": 0.5}, [1] * 5, [1, 0.5, 0.5, 0.5, 0.25]),
        ({"patience": 0, "threshold": 1.0, "threshold_mode": "abs", "factor": 0.5},
         [5, 4.5, 3], [1, 0.5, 0.5]),
        ({"patience": 0, "min_lr": 0.3, "factor": 0.5}, [1] * 4, [1, 0.5, 0.3, 0.3]),
        ({"patience": 0, "factor": 0.5}, [-1, -1.00001, -2], [1, 0.5, 0.5]),
    ],
)  # fmt: skip
def test_plateau(options, metrics, rates):
    o = optimizer()
    schedule = s.ReduceLROnPlateau(o, **options)
    got = []
    for value in metrics:
        o.step()
        schedule.step(pg.tensor(float(value)))
        got.append(o.param_groups[0]["lr"])
    assert got == pytest.approx(rates)
    other = s.ReduceLROnPlateau(optimizer(), **options)
    other.load_state_dict(schedule.state_dict())
    assert other.best == schedule.best


def test_callable_objects_are_saved_by_their_attributes():
    class Decay:
        def __init__(self, rate):
            self.rate = rate

        def __call__(self, epoch):
            return self.rate**epoch

    schedule = s.LambdaLR(optimizer(), [Decay(0.5), lambda e: 1.0])
    other = s.LambdaLR(optimizer(), [Decay(0.9), lambda e: 2.0])
    other.load_state_dict(schedule.state_dict())
    assert other.lr_lambdas[0].rate == 0.5
    assert other.lr_lambdas[1](0) == 2.0


def test_the_wrong_order_warns():
    o = optimizer()
    schedule = s.StepLR(o, 2)
    with pytest.warns(UserWarning, match=r"before optimizer\.step"):
        schedule.step()


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda o: s.StepLR(3, 2), InvalidTypeError),
        (lambda o: s.LambdaLR(3, abs), InvalidTypeError),
        (lambda o: s.CyclicLR(3, 0.1, 1.0), InvalidTypeError),
        (lambda o: s.OneCycleLR(3, 0.1, total_steps=5), InvalidTypeError),
        (lambda o: s.ReduceLROnPlateau(3), InvalidTypeError),
        (lambda o: s.LambdaLR(o, 0.9), InvalidTypeError),
        (lambda o: s.MultiplicativeLR(o, [0.9, abs]), InvalidTypeError),
        (lambda o: s.CosineAnnealingWarmRestarts(o, 3, eta_min="low"), InvalidTypeError),
        (lambda o: s.ChainedScheduler([3]), InvalidTypeError),
        (lambda o: s.SequentialLR(o, [3], []), InvalidTypeError),
        (lambda o: s.StepLR(o, 2, last_epoch=3), InvalidArgumentError),
        (lambda o: s.LambdaLR(o, [lambda e: 1.0]), InvalidArgumentError),
        (lambda o: s.LinearLR(o, 0.0), InvalidArgumentError),
        (lambda o: s.LinearLR(o, 0.5, 2.0), InvalidArgumentError),
        (lambda o: s.ConstantLR(o, 2.0), InvalidArgumentError),
        (lambda o: s.CosineAnnealingWarmRestarts(o, 0), InvalidArgumentError),
        (lambda o: s.OneCycleLR(o, 1.0), InvalidArgumentError),
        (lambda o: s.OneCycleLR(o, 1.0, total_steps=0), InvalidArgumentError),
        (lambda o: s.OneCycleLR(o, 1.0, total_steps=5, pct_start=2.0), InvalidArgumentError),
        (lambda o: s.OneCycleLR(o, 1.0, total_steps=5, anneal_strategy="x"), InvalidArgumentError),
        (lambda o: s.CyclicLR(o, 0.1, 1.0, mode="square"), InvalidArgumentError),
        (lambda o: s.CyclicLR(optimizer("Adagrad"), 0.1, 1.0), InvalidArgumentError),
        (lambda o: s.ReduceLROnPlateau(o, mode="best"), InvalidArgumentError),
        (lambda o: s.ReduceLROnPlateau(o, factor=1.0), InvalidArgumentError),
        (lambda o: s.SequentialLR(o, [s.StepLR(o, 1)], [3]), InvalidArgumentError),
        (lambda o: s.SequentialLR(o, [], []), InvalidArgumentError),
        (lambda o: s.ChainedScheduler([s.StepLR(o, 1), s.StepLR(optimizer(), 1)]),
         InvalidArgumentError),
        (lambda o: s.ChainedScheduler([s.ReduceLROnPlateau(o)]), InvalidArgumentError),
    ],
)  # fmt: skip
def test_refusals(make, error):
    with pytest.raises(error):
        make(optimizer())


def test_one_cycle_ends():
    o = optimizer()
    schedule = s.OneCycleLR(o, 1.0, total_steps=2, pct_start=0.6, cycle_momentum=False)
    for _ in range(2):
        o.step()
        schedule.step()
    with pytest.raises(InvalidArgumentError, match="step 3"):
        schedule.step()


# ---- rates in tensors, sequences of sequences, groups that come later ---------------------------
@pytest.mark.parametrize("name", FORMS)
def test_rates_in_tensors(name):
    """Schedules write into the tensors, which stay those of the groups."""
    make, form = FORMS[name]
    rates = [pg.tensor(1.0, dtype=pg.float64), pg.tensor([0.25], dtype=pg.float64)]
    ps = [pg.nn.Parameter(pg.zeros(1)) for _ in rates]
    o = pg.optim.SGD([{"params": [p], "lr": r} for p, r in zip(ps, rates, strict=True)])
    schedule = make(o)
    for t in range(EPOCHS):
        expected = [form(1.0, t), form(0.25, t)]
        assert [r.item() for r in rates] == pytest.approx(expected, rel=1e-9, abs=1e-9)
        assert schedule.get_last_lr() == [r.item() for r in rates]
        assert all(g["lr"] is r for g, r in zip(o.param_groups, rates, strict=True))
        o.step()
        if t < EPOCHS - 1:
            schedule.step()
    saved = o.state_dict()
    assert saved["param_groups"][0]["lr"] is not rates[0]


def test_a_sequence_in_a_sequence():
    o = optimizer()
    inner = s.SequentialLR(o, [s.ExponentialLR(o, 0.5), s.ConstantLR(o, 0.1, 99)], [2])
    again = s.ChainedScheduler([s.ExponentialLR(o, 0.9), s.StepLR(o, 2, 0.1)])
    schedule = s.SequentialLR(o, [inner, again], [4])
    seen = [schedule.get_last_lr()[0]]
    for _ in range(7):
        o.step()
        schedule.step()
        seen.append(schedule.get_last_lr()[0])
    chain = [0.9**t * 0.1 ** (t // 2) for t in range(4)]
    assert seen[:4] == pytest.approx([1.0, 0.5, 0.1, 0.1])
    assert seen[4:] == pytest.approx(chain)


def test_a_first_milestone_of_zero_and_a_part_that_counts_its_steps():
    o = optimizer()
    schedule = s.SequentialLR(o, [s.ConstantLR(o, 0.1), s.ExponentialLR(o, 0.5)], [0])
    assert schedule.get_last_lr() == [1.0, 0.25]
    o = optimizer()
    swa = pg.optim.swa_utils.SWALR(o, 0.0, 4, "linear")
    schedule = s.SequentialLR(o, [s.ConstantLR(o, 1.0), swa], [2])
    seen = []
    for _ in range(5):
        o.step()
        schedule.step()
        seen.append(schedule.get_last_lr()[0])
    assert seen == pytest.approx([1.0, 1.0, 0.75, 0.5, 0.25])


def test_a_factor_of_zero_ends():
    o = optimizer()
    schedule = s.ConstantLR(o, 0.0, 2)
    seen = [schedule.get_last_lr()]
    for _ in range(2):
        o.step()
        schedule.step()
        seen.append(schedule.get_last_lr())
    assert seen == [[0.0, 0.0], [0.0, 0.0], [1.0, 0.25]]


def test_groups_added_under_a_plateau():
    for least, works in ((0.0, True), ([0.0, 0.0], False)):
        o = optimizer()
        schedule = s.ReduceLROnPlateau(o, patience=0, min_lr=least)
        assert "initial_lr" not in o.param_groups[0]
        o.add_param_group({"params": [pg.nn.Parameter(pg.zeros(1))], "lr": 0.5})
        schedule.step(1.0)
        if works:
            schedule.step(1.0)
            assert schedule.get_last_lr() == pytest.approx([0.1, 0.025, 0.05])
        else:
            with pytest.raises(InvalidArgumentError, match=r"2 values for 3 groups.*min_lrs"):
                schedule.step(1.0)


def test_resuming_by_last_epoch():
    """The rates of an optimiser that was saved are those of that epoch: they are left alone."""
    for make in (
        lambda o: s.MultiplicativeLR(o, lambda e: 0.5, last_epoch=3),
        lambda o: s.CosineAnnealingLR(o, 7, last_epoch=3),
        lambda o: s.ExponentialLR(o, 0.5, last_epoch=3),
    ):
        o = optimizer()
        for group in o.param_groups:
            group["initial_lr"] = 8.0
        assert make(o).get_last_lr() == [1.0, 0.25]


def test_groups_that_share_a_tensor_as_their_rate_get_one_each():
    """The last group's rate was everybody's."""
    lr = pg.tensor(1.0)
    groups = [{"params": [pg.nn.Parameter(pg.ones(1))]} for _ in range(2)]
    optimizer = pg.optim.SGD(groups, lr=lr)
    schedule = pg.optim.lr_scheduler.LambdaLR(optimizer, [lambda e: 1.0, lambda e: 0.5**e])
    for _ in range(2):
        optimizer.step()
        schedule.step()
    assert [float(group["lr"]) for group in optimizer.param_groups] == [1.0, 0.25]
    assert optimizer.param_groups[0]["lr"] is lr


@pytest.mark.parametrize("lr", [pg.tensor(1j), pg.tensor(True)])
def test_a_rate_in_a_tensor_of_no_numbers(lr):
    with pytest.raises(InvalidTypeError, match="lr is a"):
        pg.optim.SGD([pg.nn.Parameter(pg.ones(1))], lr=lr)
