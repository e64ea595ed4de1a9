"""Seconds of a synchronous round in Flower: a SuperLink, three SuperNodes and an app of 216 numbers, without TLS, on loopback.

Usage: python federation_peer.py ROUNDS. Everything is made in a temporary folder. Prints one line of JSON.
"""

import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time

NODES, NUMBERS = 3, 216

PROJECT = """
[project]
name = "rounds"
version = "1.0.0"
description = ""
license = "Apache-2.0"
dependencies = []

[tool.flwr.app]
publisher = "bench"

[tool.flwr.app.components]
serverapp = "rounds.app:server"
clientapp = "rounds.app:client"

[tool.flwr.app.config]
rounds = 3
numbers = 216
out = ""
"""

APP = '''
import json
import time
import numpy as np
from flwr.app import ArrayRecord, MetricRecord, RecordDict, Message
from flwr.clientapp import ClientApp
from flwr.serverapp import ServerApp
from flwr.serverapp.strategy import FedAvg

client = ClientApp()
server = ServerApp()


@client.train()
def train(message, context):
    arrays = [array + 1.0 for array in message.content["arrays"].to_numpy_ndarrays()]
    metrics = MetricRecord({"num-examples": 1})
    content = RecordDict({"arrays": ArrayRecord(arrays), "metrics": metrics})
    return Message(content=content, reply_to=message)


class Clocked(FedAvg):
    times = []

    def aggregate_train(self, server_round, replies):
        replies = list(replies)
        self.times.append((time.time(), sum(not reply.has_error() for reply in replies)))
        return super().aggregate_train(server_round, replies)


@server.main()
def main(grid, context):
    config = context.run_config
    strategy = Clocked(fraction_train=1.0, fraction_evaluate=0.0, min_train_nodes=3, min_available_nodes=3)
    first = ArrayRecord([np.zeros(config["numbers"])])
    begin = time.time()
    strategy.start(grid=grid, initial_arrays=first, num_rounds=config["rounds"])
    with open(config["out"], "w") as file:
        json.dump({"begin": begin, "times": strategy.times}, file)
'''


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def write(folder, port):
    app = folder / "app" / "rounds"
    app.mkdir(parents=True)
    (folder / "app" / "pyproject.toml").write_text(PROJECT)
    (app / "__init__.py").write_text("")
    (app / "app.py").write_text(APP)
    home = folder / "home"
    home.mkdir()
    connection = f'[superlink]\ndefault = "here"\n\n[superlink.here]\naddress = "127.0.0.1:{port}"\ninsecure = true\n'
    (home / "config.toml").write_text(connection)
    return home


def measure(folder, rounds, started):
    port = free_port()
    home = write(folder, port)
    programs = pathlib.Path(sys.executable).parent
    places = os.pathsep.join([str(programs), os.environ.get("PATH", "")])
    surroundings = os.environ | {"FLWR_HOME": str(home), "FLWR_TELEMETRY_ENABLED": "0", "PATH": places}

    def start(program, *words):
        with open(folder / f"log-{len(started)}", "w") as log:
            command = [str(programs / program), *words]
            started.append(subprocess.Popen(command, stdout=log, stderr=log, env=surroundings, start_new_session=True))

    begin = time.time()
    start("flower-superlink", "--insecure", "--host", "127.0.0.1", "--port", str(port), "--disable-runtime-dependency-installation")
    for _ in range(NODES):
        start("flower-supernode", "--insecure", "--superlink", f"127.0.0.1:{port}", "--port", str(free_port()))
    time.sleep(3)
    out = folder / "times.json"
    asked = f'rounds={rounds} out="{out}"'
    run = [str(programs / "flwr"), "run", str(folder / "app"), "here", "--run-config", asked]
    for _ in range(10):
        if subprocess.run(run, env=surroundings, capture_output=True).returncode == 0:
            break
        time.sleep(2)
    while not out.exists() or not out.read_text().endswith("}"):
        if time.time() - begin > 240:
            raise RuntimeError("no rounds within four minutes: " + (folder / "log-0").read_text()[-2000:])
        time.sleep(0.2)
    report(begin, json.loads(out.read_text()))


def report(begin, found):
    ends = [end for end, _ in found["times"]]
    if any(answers != NODES for _, answers in found["times"]):
        raise RuntimeError("a round without all answers")
    each = sorted(after - before for before, after in zip(ends, ends[1:]))
    print(json.dumps({
        "peer": "Flower 1.41.0", "agents": NODES, "numbers": NUMBERS, "rounds": len(ends),
        "round_p50_s": each[len(each) // 2], "round_least_s": each[0], "round_most_s": each[-1],
        "first_round_s": ends[0] - found["begin"], "start_s": ends[0] - begin,
        "load_average": os.getloadavg()[0],
    }))


def main():
    started = []
    with tempfile.TemporaryDirectory() as folder:
        try:
            measure(pathlib.Path(folder), int(sys.argv[1]), started)
        finally:
            # Each was started in a session of its own, whose children end with it.
            for process in reversed(started):
                try:
                    os.killpg(process.pid, 15)
                except ProcessLookupError:
                    pass
            for process in started:
                process.wait()


main()
