"""Two servers that take training steps in turn, and how quiet the machine was meanwhile."""
import json
import os
import pathlib
import subprocess
import time
from dataclasses import dataclass, field

TICKS = os.sysconf("SC_CLK_TCK")
CORES = os.cpu_count()

# A step during which other processes took more of the machine than this is taken again. What
# decides is their CPU time, never the step's own duration, so nothing is favoured.
QUIET_SHARE = 0.04
MOST_TRIES = 6
LONGEST_WAIT_S = 30


class Server:
    """A program that answers JSON lines; see peer_torch.py and step_server.cpp."""

    def __init__(self, command, environment):
        self.command = command
        self.process = subprocess.Popen(command, env={**os.environ, **environment}, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.about = self.ask("hello")

    def ask(self, command, **fields):
        question = json.dumps(dict(cmd=command, **fields))
        try:
            self.process.stdin.write(question + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise SystemExit(f"error: {self.command[0]} ended at {question}, "
                             f"exit code {self.process.wait()}")
        answer = json.loads(line)
        if "error" in answer:
            raise SystemExit(f"error: {self.command[0]} at {question}: {answer['error']}")
        return answer

    def cpu_seconds(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2]
        user, system = fields.split()[11:13]
        return (int(user) + int(system)) / TICKS

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def busy_seconds():
    """CPU time of everybody since boot, stolen by other virtual machines included."""
    fields = pathlib.Path("/proc/stat").read_text().splitlines()[0].split()[1:]
    user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, fields[:8])
    return (user + nice + system + irq + softirq + steal) / TICKS


class Watch:
    """What share of the machine others take between start and stop."""

    def __init__(self, servers):
        self.servers = servers

    def __enter__(self):
        self.began, self.busy, self.ours = time.monotonic(), busy_seconds(), self.own_seconds()
        return self

    def __exit__(self, *_):
        others = busy_seconds() - self.busy - (self.own_seconds() - self.ours)
        self.share = max(0.0, others / (CORES * (time.monotonic() - self.began)))

    def own_seconds(self):
        return time.process_time() + sum(server.cpu_seconds() for server in self.servers)


@dataclass
class Contender:
    program: str            # "refrain" or "peer"
    fields: dict            # of the command "step"
    ms: list = field(default_factory=list)      # one a round
    others: list = field(default_factory=list)  # share of the machine that others took, one a round
    loss: list = field(default_factory=list)
    facts: dict = field(default_factory=dict)   # bytes

    def __str__(self):
        return self.program + " " + " ".join(self.fields.values())

    def forget(self):
        self.ms, self.others, self.loss = [], [], []

    def result(self):
        return dict(program=self.program, **self.fields, **self.facts, ms=self.ms,
                    others=self.others, loss=self.loss)


class Contest:
    def __init__(self, servers, contenders, most_tries=MOST_TRIES):
        self.servers, self.contenders, self.most_tries = servers, contenders, most_tries
        self.repeated = 0

    def wait_for_quiet(self):
        deadline = time.monotonic() + LONGEST_WAIT_S
        while time.monotonic() < deadline:
            with Watch(self.servers.values()) as watch:
                time.sleep(0.5)
            if watch.share < QUIET_SHARE:
                return

    def timed_step(self, contender):
        for attempt in range(self.most_tries):
            with Watch(self.servers.values()) as watch:
                answer = self.servers[contender.program].ask("step", **contender.fields)
            if watch.share < QUIET_SHARE:
                break
            if attempt + 1 < self.most_tries:
                self.repeated += 1
                self.wait_for_quiet()
        return answer, watch.share

    def round(self, index):
        """Every contender takes a step. Nobody is always first, or always behind the same one."""
        turn = index % len(self.contenders)
        order = self.contenders[turn:] + self.contenders[:turn]
        for contender in order if index % 2 == 0 else reversed(order):
            answer, share = self.timed_step(contender)
            contender.ms.append(round(answer["ms"], 2))
            contender.others.append(round(share, 3))
            contender.loss.append(answer["loss"])
