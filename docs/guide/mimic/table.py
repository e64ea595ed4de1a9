"""Writes the table of Figure 2 of Heikkilä et al. from the in-hospital-mortality folder of the MIMIC-III benchmarks.

Usage: python3 table.py BENCHMARK/data/in-hospital-mortality > mortality.csv

The folder is what `python -m mimic3benchmark.scripts.create_in_hospital_mortality data/root/ data/in-hospital-mortality/` of
https://github.com/YerevaNN/mimic3-benchmarks (Harutyunyan et al. 2019) writes: `train` and `test`, each with `listfile.csv` and a
time series for each stay. A row of the table is a stay: mean, minimum, maximum and last value of each variable in its first 48
hours, empty where nothing was measured. As many survivors are kept as there are deaths, drawn with a fixed seed.
"""

import csv
import pathlib
import random
import sys

NUMBERS = {
    "Capillary refill rate": "refill",
    "Diastolic blood pressure": "diastolic",
    "Fraction inspired oxygen": "fio2",
    "Glucose": "glucose",
    "Heart Rate": "heart_rate",
    "Height": "height",
    "Mean blood pressure": "mean_pressure",
    "Oxygen saturation": "saturation",
    "Respiratory rate": "respiration",
    "Systolic blood pressure": "systolic",
    "Temperature": "temperature",
    "Weight": "weight",
    "pH": "ph",
}
# The chart has words, with and without the number before them.
SCALES = {
    "Glascow coma scale eye opening": ("eye", ["no response|none", "to pain", "to speech", "spontaneously"]),
    "Glascow coma scale motor response": (
        "motor",
        ["no response", "abnorm extensn|abnormal extension", "abnorm flexion|abnormal flexion", "flex-withdraws",
         "localizes pain", "obeys commands"],
    ),
    "Glascow coma scale verbal response": (
        "verbal",
        ["no response|no response-ett|et/trach", "incomp sounds|incomprehensible sounds",
         "inapprop words|inappropriate words", "confused", "oriented"],
    ),
}
SUMMARIES = ("mean", "low", "high", "last")
HOURS = 48.0


def number(text):
    """A finite number, or nothing."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if abs(value) < 1e6 else None


def grade(text, words):
    """The place on a coma scale of what the chart says, or nothing."""
    said = text.strip().lower().lstrip("0123456789. ")
    for place, names in enumerate(words, start=1):
        if said in names.split("|"):
            return float(place)
    return None


def stay(path):
    """The values of each variable in the first hours of a stay, in the order of time."""
    seen = {short: [] for short in [*NUMBERS.values(), *(short for short, _ in SCALES.values())]}
    with path.open(newline="") as lines:
        for line in csv.DictReader(lines):
            hour = number(line["Hours"])
            if hour is None or hour > HOURS:
                continue
            found = [(short, number(line[name])) for name, short in NUMBERS.items()]
            found += [(short, grade(line[name], words)) for name, (short, words) in SCALES.items()]
            for short, value in found:
                if value is not None:
                    seen[short].append(value)
    return seen


def summaries(values):
    """Mean, minimum, maximum and last of some values; four empty cells of none."""
    if not values:
        return [""] * len(SUMMARIES)
    return [f"{v:.6g}" for v in (sum(values) / len(values), min(values), max(values), values[-1])]


def main(folder):
    stays = []
    for part in ("train", "test"):
        with (folder / part / "listfile.csv").open(newline="") as lines:
            stays += [(folder / part / line["stay"], line["y_true"]) for line in csv.DictReader(lines)]
    stays.sort()
    died = [one for one in stays if one[1] == "1"]
    survived = [one for one in stays if one[1] == "0"]
    kept = sorted(died + random.Random(1).sample(survived, min(len(died), len(survived))))
    variables = [*NUMBERS.values(), *(short for short, _ in SCALES.values())]
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow([f"{v}_{s}" for v in variables for s in SUMMARIES] + ["died"])
    for path, outcome in kept:
        seen = stay(path)
        out.writerow([cell for v in variables for cell in summaries(seen[v])] + [outcome])


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
