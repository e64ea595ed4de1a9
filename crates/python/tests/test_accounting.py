"""Accounting through Python: the answers are those of the crates, and refusals say what to do."""

import json
import math
import pickle
import threading
import time

import numpy as np
import pytest

import posterity as ps

SUBSAMPLED = dict(steps=10_000, rate=0.01, adjacency="add-remove")


def test_the_answer_of_the_command_line():
    cost = ps.epsilon(ps.Event.gaussian(1.0, **SUBSAMPLED), delta=1e-5)
    assert repr(cost) == "Bounds(lower=6.18771, upper=6.18772, accountant='pld')"
    assert cost.two_sided and not cost.verified
    assert ps.epsilon(ps.Event.gaussian(1.0, **SUBSAMPLED), delta=1e-5, verify=True).verified


@pytest.mark.parametrize("accountant", sorted(ps.accountants()))
def test_every_accountant_bounds_the_certified_cost(accountant):
    event = ps.Event.gaussian(8.0, steps=10, adjacency="substitute")
    best = ps.epsilon(event, delta=1e-5)
    try:
        other = ps.epsilon(event, delta=1e-5, accountant=accountant)
    except ps.PrivacyError as error:
        assert error.code in {"P003", "P004"} and error.hint
        return
    assert other.upper >= best.lower and other.accountant == accountant
    if accountant in {"pld", "rdp", "zcdp", "gdp"}:
        assert math.isfinite(other.upper)


def test_lists_of_events_add_up():
    event = ps.Event.gaussian(4.0, steps=10, adjacency="substitute")
    twice = ps.epsilon(event.repeated(20), delta=1e-6)
    assert ps.epsilon([event, event], delta=1e-6).upper == pytest.approx(twice.upper, rel=1e-9)
    assert ps.epsilon(event, delta=1e-6, overlap=2) == twice
    assert ps.epsilon(event, delta=1e-6, group=2).upper > twice.upper


def test_epsilon_and_delta_agree():
    event = ps.Event.laplace(2.0, steps=3, adjacency="add-remove")
    cost = ps.epsilon(event, delta=1e-4)
    assert ps.delta(event, epsilon=cost.upper).lower <= 1e-4


def test_calibration_is_within_the_budget_and_close():
    def plan(z):
        return [ps.Event.gaussian(z, steps=200, rate=0.05, adjacency="substitute")]

    found = ps.calibrate(plan, epsilon=1, delta=1e-5)
    assert found.epsilon.upper <= 1
    assert ps.epsilon(plan(float(found) * 0.999), delta=1e-5).upper > 1


def test_what_a_plan_raises_is_raised():
    class Odd(Exception):
        pass

    def plan(z):
        raise Odd

    with pytest.raises(Odd):
        ps.calibrate(plan, epsilon=1, delta=1e-5)
    with pytest.raises(TypeError):
        ps.calibrate(lambda z: z, epsilon=1, delta=1e-5)


def test_steps_fill_the_budget():
    event = ps.Event.gaussian(4.0, steps=7, adjacency="substitute")
    found = ps.steps(event, epsilon=2, delta=1e-4)
    assert range(1000)[found] == int(found) == found.steps
    assert ps.epsilon(event.repeated(found.steps), delta=1e-4).upper <= 2
    assert ps.epsilon(event.repeated(found.steps + 1), delta=1e-4).upper > 2


def test_profiles_are_arrays_tables_and_pictures():
    event = ps.Event.gaussian(2.0, steps=4, adjacency="substitute")
    curve = ps.profile([event], epsilons=np.linspace(0.1, 4, 9), accountants=["pld", "rdp"])
    assert curve.upper["pld"].shape == curve.epsilons.shape == (9,)
    assert (curve.lower["pld"] <= curve.upper["pld"]).all() and "rdp" not in curve.lower
    assert (curve.upper["pld"] <= curve.upper["rdp"]).all()
    assert curve.upper["pld"][3] == ps.delta(event, epsilon=curve.epsilons[3]).upper
    assert curve._repr_html_().startswith("<svg")
    assert list(curve.to_pandas()) == ["epsilon", "pld_upper", "pld_lower", "rdp_upper"]
    assert curve.to_csv().splitlines()[0] == "epsilon,pld_upper,pld_lower,rdp_upper"


def test_profiles_are_drawn():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    curve = ps.profile(ps.Event.gaussian(2.0, adjacency="substitute"), epsilons=[0.5, 1, 2])
    assert len(curve.plot().lines) == 1


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda: ps.Event.gaussian(-1, adjacency="substitute"), "P001"),
        (lambda: ps.Event.gaussian(math.nan, adjacency="substitute"), "P001"),
        (lambda: ps.Event.gaussian(1, adjacency="substitute", steps=0), "P001"),
        (lambda: ps.Event.gaussian(1, adjacency="substitute", steps=-3), "P001"),
        (lambda: ps.Event.gaussian(1, adjacency="substitute", rate=1.5), "P001"),
        (lambda: ps.Event.gaussian(1, adjacency="neighbours"), "C001"),
        (lambda: ps.Event.gaussian(1, adjacency="substitute", unit="row"), "C001"),
        (lambda: ps.Event.randomised_response(1, 0.5), "P001"),
        (lambda: ps.epsilon([], delta=1e-5), "C002"),
        (lambda: ps.epsilon(ps.Event.gaussian(1, adjacency="substitute"), delta=1e-5, accountant="pdl"), "C001"),
        (lambda: ps.epsilon(ps.Event.gaussian(1, adjacency="substitute"), delta=0), "P001"),
        (lambda: ps.delta(ps.Event.gaussian(1, adjacency="substitute"), epsilon=-1), "P001"),
        (lambda: ps.profile(ps.Event.gaussian(1, adjacency="substitute"), epsilons=[1], accountants=["a"]), "C001"),
    ],
)
def test_wrong_numbers_are_value_errors_with_code_and_hint(make, code):
    with pytest.raises(ValueError) as caught:
        make()
    error = caught.value
    assert isinstance(error, ps.ParameterError) and error.code == code
    assert error.message and error.hint and error.hint in str(error)
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error) and str(again) == str(error) and again.hint == error.hint


def test_what_no_theorem_covers_is_refused():
    with pytest.raises(ps.PrivacyError) as caught:
        ps.Event.gaussian(1, adjacency="add-remove", rate=0.1, sampling="without-replacement")
    assert caught.value.code == "P002" and not isinstance(caught.value, ValueError)
    with pytest.raises(ps.BudgetError):
        ps.steps(ps.Event.gaussian(0.1, adjacency="substitute"), epsilon=0.1, delta=1e-6)


def test_the_relation_is_required():
    with pytest.raises(TypeError):
        ps.Event.gaussian(1.0)


@pytest.mark.parametrize(
    "event",
    [
        ps.Event.gaussian(1.3, adjacency="substitute", steps=5, unit="person"),
        ps.Event.laplace(1.3, adjacency="add-remove", rate=0.1),
        ps.Event.randomised_response(4, 0.25, steps=2),
        ps.Event.shuffle_clones(10_000, 1.0),
        ps.Event.shuffle_krr(10_000, 8, 0.25, adversary="strong"),
        ps.Event.approximate(0.1, 1e-7, adjacency="substitute", steps=4),
        ps.Event.barker(100, 10_000, steps=20),
    ],
)
def test_events_survive_pickling_and_are_hashed(event):
    again = pickle.loads(pickle.dumps(event))
    assert again == event and hash(again) == hash(event) and {again} == {event}
    assert event.mechanism in {"gaussian", "laplace", "randomised-response", "approximate"} or event.steps
    assert str(event.steps) in repr(event)


def test_events_are_read_from_json():
    entry = {"mechanism": "gaussian", "noise_multiplier": 1.1, "steps": 100, "adjacency": "substitute"}
    assert ps.read_events(json.dumps([entry])) == [ps.Event.gaussian(1.1, steps=100, adjacency="substitute")]
    with pytest.raises(ps.ParameterError):
        ps.read_events('[{"mechanism": "gaussian", "noise": 1}]')


def test_the_lock_is_released_while_an_accountant_works():
    """Another thread goes on while a cost is computed that takes far longer than a switch of threads."""
    count, stop = 0, threading.Event()

    def tick():
        nonlocal count
        while not stop.is_set():
            count += 1
            time.sleep(0.0005)

    thread = threading.Thread(target=tick)
    thread.start()
    event = ps.Event.gaussian(1.0, steps=1000, rate=0.02, adjacency="add-remove")
    seen, before = 0, time.monotonic()
    while time.monotonic() - before < 0.5:
        start = count
        ps.profile(event, epsilons=np.linspace(0.1, 2, 40))
        seen = max(seen, count - start)
    stop.set()
    thread.join()
    assert seen > 2
