"""Times iterations of the same private Barker chain in NumPy and prints one JSON object per line.

Run by `cargo xtask bench chain`, which installs NumPy into a virtual environment. The arguments are numbers of rows. The same
chain as ours: the mixture of two normal components, batches of 1,000 rows without replacement by Floyd's method (what
`Generator.choice` does where the batch is a small share of the rows: its cost does not grow with them), ratios clipped, noise
that completes the batch's own to C = 2, data that count as 100 rows. All that does not depend on the chain is drawn beforehand,
for all iterations at once; a log-ratio takes two exponentials and one logarithm, as ours. One thread, double precision, CPU
time. The generator is PCG64 and the noise a float: neither is fit for privacy, and there is no ledger and no message.
"""

import json
import sys
import time

import numpy as np

BATCH, COUNTS_AS, STEP, ITERATIONS, STRETCHES = 1000, 100, 0.5, 20_000, 10
VARIANCE, PRECISIONS = 2.0, np.array([0.1, 1.0])


# The correction to N(0, 2): weights, distances from 0 on either side, deviations (crates/inference/src/chain/correction_table.rs).
MIXTURE = np.array(
    [
        [0.8571039514246117, 0.0, 0.03125],
        [0.13537027915061944, 2.75, 0.03125],
        [0.007205257282697807, 5.761015074266819, 0.03928960143056498],
        [0.0003090986643983887, 8.966558833639047, 0.04413982091013318],
        [1.1071682394300532e-05, 12.344067643687007, 0.04419303228437832],
        [3.417952783175187e-07, 16.0, 0.03125],
    ]
)


def corrections(rng, count):
    which = rng.choice(len(MIXTURE), count, p=MIXTURE[:, 0] / MIXTURE[:, 0].sum())
    sides = rng.choice([-1.0, 1.0], count)
    return sides * MIXTURE[which, 1] + MIXTURE[which, 2] * rng.standard_normal(count)


def chain(rows):
    rng = np.random.default_rng(1)
    outcomes = rng.integers(2, size=rows) + np.sqrt(VARIANCE) * rng.standard_normal(rows)
    moves = STEP * rng.standard_normal((ITERATIONS, 2))
    normals, missing = rng.standard_normal(ITERATIONS), corrections(rng, ITERATIONS)
    rate, bound, scale = 0.5 / VARIANCE, np.sqrt(BATCH) / COUNTS_AS, COUNTS_AS**2 / BATCH
    theta, accepted, stretches = np.zeros(2), 0, []

    def line(at):
        return 2 * rate * at[1], -rate * at[1] * (2 * at[0] + at[1])

    for stretch in range(STRETCHES):
        start = time.process_time()
        for i in range(stretch * ITERATIONS // STRETCHES, (stretch + 1) * ITERATIONS // STRETCHES):
            proposed = theta + moves[i]
            y = outcomes[rng.choice(rows, BATCH, replace=False, shuffle=False)]
            (slope, begin), (new_slope, new_begin) = line(theta), line(proposed)
            ratios = np.log((1 + np.exp(new_slope * y + new_begin)) / (1 + np.exp(slope * y + begin)))
            ratios += 2 * rate * (proposed[0] - theta[0]) * y + rate * (theta[0] ** 2 - proposed[0] ** 2)
            np.clip(ratios, -bound, bound, out=ratios)
            noise = np.sqrt(2 - scale * ratios.var()) * normals[i] + missing[i]
            prior = 0.5 * (PRECISIONS * (theta**2 - proposed**2)).sum()
            if COUNTS_AS * ratios.mean() + prior + noise > 0:
                theta, accepted = proposed, accepted + 1
        stretches.append((time.process_time() - start) * 1e6 * STRETCHES / ITERATIONS)
    return {
        "peer": f"NumPy {np.__version__}",
        "rows": rows,
        "microseconds": round(sorted(stretches)[STRETCHES // 2], 2),
        "accepted": accepted / ITERATIONS,
    }


for argument in sys.argv[1:]:
    print(json.dumps(chain(int(argument))), flush=True)
