"""What an interpreter without other packages is asked of the package. It prints `ok`."""

import pickle

import posterity as ps

event = ps.Event.gaussian(1.0, steps=10_000, rate=0.01, adjacency="add-remove")
cost = ps.epsilon(event, delta=1e-5)
assert 6.1877 < cost.lower <= float(cost) < 6.1878, cost
assert pickle.loads(pickle.dumps(event)) == event

try:
    ps.epsilon(event, delta=2)
except ValueError as error:
    assert isinstance(error, ps.ParameterError) and error.code == "P001" and error.hint, error
else:
    raise AssertionError("a δ of 2 was accepted")

print("ok")
