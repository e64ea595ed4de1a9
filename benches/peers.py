"""Times the peers' accountants on the cases W1 to W6 and prints one JSON object per line.

Run by `cargo xtask bench accounting`, which installs dp-accounting 0.6.0 and prv-accountant 0.2.0 into a virtual
environment. CPU time of the process; each case runs once, imports not counted, and is stopped after LIMIT seconds of
CPU time. A peer that has no such mechanism says so.
"""

import json
import os
import signal
import time

import dp_accounting as dp
from dp_accounting import rdp
from dp_accounting.pld import pld_privacy_accountant
from prv_accountant import PoissonSubsampledGaussianMechanism, PRVAccountant
from prv_accountant.dpsgd import find_noise_multiplier

ADD_REMOVE = dp.NeighboringRelation.ADD_OR_REMOVE_ONE
REPLACE = dp.NeighboringRelation.REPLACE_ONE


def sampled(rate, multiplier):
    return dp.PoissonSampledDpEvent(rate, dp.GaussianDpEvent(multiplier))


LIMIT = 240


def measure(case, peer, run):
    start = time.process_time()
    try:
        answer = run()
    except Exception as error:  # a peer that fails is a result too
        answer = {"error": f"{type(error).__name__}: {error}"[:120].replace('"', "'")}
    answer.update(case=case, peer=peer, seconds=time.process_time() - start)
    print(json.dumps(answer), flush=True)


def report(case, peer, run):
    """Measures in a child process, which the system ends at the limit even inside of a library call."""
    child = os.fork()
    if child == 0:
        signal.setitimer(signal.ITIMER_PROF, LIMIT)  # counts CPU time; its signal ends the process
        measure(case, peer, run)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        limit = os.WTERMSIG(status) == signal.SIGPROF
        why = f"> {LIMIT} s, stopped" if limit else f"ended by signal {os.WTERMSIG(status)}"
        print(json.dumps({"error": why, "case": case, "peer": peer, "seconds": LIMIT if limit else 0}), flush=True)


def absent(case, peer, why):
    print(json.dumps({"error": why, "case": case, "peer": peer}), flush=True)


def pld(event, delta):
    accountant = pld_privacy_accountant.PLDAccountant(ADD_REMOVE)
    accountant.compose(event)
    return {"upper": accountant.get_epsilon(delta)}


def prv(mechanisms, counts, delta):
    accountant = PRVAccountant(
        prvs=mechanisms, max_self_compositions=counts, eps_error=0.01, delta_error=delta * 1e-3
    )
    lower, _, upper = accountant.compute_epsilon(delta, counts)
    return {"lower": float(lower), "upper": float(upper)}


def calibrated():
    value = dp.calibrate_dp_mechanism(
        lambda: pld_privacy_accountant.PLDAccountant(ADD_REMOVE),
        lambda multiplier: dp.SelfComposedDpEvent(sampled(0.01, multiplier), 10_000),
        1.0,
        1e-5,
        bracket_interval=dp.LowerEndpointAndGuess(0.1, 4.0),
    )
    return {"upper": float(value)}


def fixed_size():
    accountant = rdp.RdpAccountant(neighboring_relation=REPLACE)
    event = dp.SampledWithoutReplacementDpEvent(50_000, 1_000, dp.GaussianDpEvent(1.0))
    accountant.compose(dp.SelfComposedDpEvent(event, 1_000))
    return {"upper": accountant.get_epsilon(1e-5)}


many = [(0.001 + 0.0005 * i, 1.0 + 0.03 * i) for i in range(100)]

report("W1", "dp-accounting pld", lambda: pld(dp.SelfComposedDpEvent(sampled(0.01, 1.0), 10_000), 1e-5))
report("W1", "prv-accountant", lambda: prv([PoissonSubsampledGaussianMechanism(noise_multiplier=1.0, sampling_probability=0.01)], [10_000], 1e-5))
report("W2", "dp-accounting pld", lambda: pld(dp.SelfComposedDpEvent(sampled(1e-4, 1.0), 100_000), 1e-10))
report("W2", "prv-accountant", lambda: prv([PoissonSubsampledGaussianMechanism(noise_multiplier=1.0, sampling_probability=1e-4)], [100_000], 1e-10))
report("W3", "dp-accounting pld", lambda: pld(dp.ComposedDpEvent([dp.SelfComposedDpEvent(sampled(q, z), 10) for q, z in many]), 1e-5))
report("W3", "prv-accountant", lambda: prv([PoissonSubsampledGaussianMechanism(noise_multiplier=z, sampling_probability=q) for q, z in many], [10] * 100, 1e-5))
report("W4", "dp-accounting pld", calibrated)
report("W4", "prv-accountant", lambda: {"upper": float(find_noise_multiplier(0.01, 10_000, 1.0, 1e-5, eps_error=0.01))})
report("W5", "dp-accounting rdp", fixed_size)
absent("W5", "prv-accountant", "has no batches of fixed size")
absent("W6", "dp-accounting", "has no shuffle model")
absent("W6", "prv-accountant", "has no shuffle model")
