#!/usr/bin/env python3
"""Races Refrain against PyTorch eager on this machine and writes docs/performance.md's tables.

    make bench                                  all of it, after setting up and building
    bench/run.py --only S,startup --rounds 5    parts of it
    bench/run.py --render                       the tables again, from bench/results.json

Parts: S, M     races at two shapes: every contender takes one step a round, in turn, one at a time
       plan     each setting against the plan with its bytes as the budget
       profile  where a step of Refrain spends its time
       malloc   the same program under other settings of malloc, raced against itself
       startup  how long the programs that need no LibTorch take
       check    how many configurations a second are judged
Nothing here is needed but Python; the peer's Python needs torch and numpy.
"""
import argparse
import datetime
import gzip
import json
import os
import pathlib
import platform
import subprocess
import tempfile
import time
from dataclasses import dataclass

import tables
from contest import MOST_TRIES, Contender, Contest, Server

ROOT = pathlib.Path(__file__).resolve().parent.parent
MOST_ERROR = 1e-4  # largest relative error of a gradient that float32 sums in another order explain


@dataclass
class Race:
    model: str
    seq: int
    micro_batch: int
    peer_modes: list
    settings: list  # (setting, replay, attention)


def demand(*settings):
    return [(setting, "demand", "fused") for setting in settings]


def both_policies(*settings):
    return [(setting, replay, "fused") for setting in settings for replay in ("demand", "region")]


RACES = {
    "S": Race(
        "bench-s", 512, 4,
        ["none", "full", "uniform:2", "uniform:4", "mlp", "core_attn", "layernorm", "sac_mm",
         "sac_half_mm"],
        demand("none", "selective:layernorm,mlp", "full:block:2", "full:block:6")
        + both_policies("full:uniform:1", "full:uniform:2", "full:uniform:4", "full:block:4",
                        "selective:mlp", "selective:core_attn", "selective:layernorm",
                        "selective:pointwise")
        + [("none", "demand", "unfused"), ("selective:core_attn", "demand", "unfused"),
           ("selective:core_attn", "region", "unfused")]),
    "M": Race(
        "bench-m", 1024, 2, ["none", "full", "mlp"],
        demand("none", "full:uniform:1", "selective:mlp", "selective:pointwise",
               "selective:layernorm,mlp")),
}

MALLOC = {  # what is changed -> the program, and the environment that changes it
    # What Refrain sets for itself, see src/engine/memory/counting_allocator.cpp.
    "PyTorch with a heap that keeps its pages, huge ones": (
        "peer", {"GLIBC_TUNABLES": "glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold="
                                   "2147483647:glibc.malloc.top_pad=67108864:"
                                   "glibc.malloc.hugetlb=1"}),
}


def say(text):
    print(time.strftime("%H:%M:%S ") + text, flush=True)


class Runner:
    def __init__(self, options):
        self.options = options
        self.results = json.loads(options.results.read_text()) if options.results.exists() else {}

    def save(self, part, result):
        self.results[part] = result
        text = json.dumps(self.results, indent=1)
        # Lists of numbers on one line: the file is kept beside the tables it explains.
        self.options.results.write_text(tables.with_flat_lists(text) + "\n")

    def start(self, program, race, environment=None):
        """A server of the race's shape; the peer's needs `sizes`, which Refrain's tells."""
        environment = {"OMP_NUM_THREADS": str(self.options.threads), **(environment or {})}
        first = ["chrt", "--fifo", "10"] if self.options.realtime else []
        shape = ["--seq", str(race.seq), "--micro-batch", str(race.micro_batch), "--threads",
                 str(self.options.threads)]
        if program == "refrain":
            server = self.options.bin / "refrain-step-server"
            return Server([*first, str(server), "--model", race.model, *shape], environment)
        sizes = [word for name, size in self.sizes.items() for word in (f"--{name}", str(size))]
        return Server([*first, str(self.options.peer_python),
                       str(ROOT / "bench" / "peer_torch.py"), *sizes, *shape], environment)

    def start_both(self, race):
        refrain = self.start("refrain", race)
        self.sizes = refrain.about["model"]
        return {"refrain": refrain, "peer": self.start("peer", race)}

    def race(self, name):
        race = RACES[name]
        servers = self.start_both(race)
        contenders = interleaved(race)
        contest = Contest(servers, contenders, self.options.most_tries)
        say(f"race {name}: {len(contenders)} contenders, {self.options.rounds} rounds")
        with tempfile.TemporaryDirectory() as folder:
            result = dict(self.conditions(race, servers), gradients=compare(servers, contenders,
                                                                           folder))
        say(f"largest relative error of a gradient: {result['gradients']['worst_error']:.2g}")
        measure_bytes(contest)
        for index in range(self.options.rounds):
            contest.round(index)
            result.update(repeated=contest.repeated, load_after=os.getloadavg()[0],
                          contenders=[contender.result() for contender in contenders])
            self.save(name, result)
            say(f"race {name}: round {index + 1}, {contest.repeated} steps taken again")
        for server in servers.values():
            server.close()

    def conditions(self, race, servers):
        return dict(model=race.model, seq=race.seq, micro_batch=race.micro_batch,
                    sizes=self.sizes, tokens=servers["refrain"].about["tokens"],
                    threads=self.options.threads, load_before=os.getloadavg()[0],
                    most_tries=self.options.most_tries, realtime=self.options.realtime,
                    programs={name: s.about["program"] for name, s in servers.items()})

    def plan(self):
        """Settings, and for each the plan whose budget is its peak."""
        servers = {"refrain": self.start("refrain", RACES["S"])}
        settings = [setting for setting, replay, attention in RACES["S"].settings
                    if (replay, attention) == ("demand", "fused") and setting != "none"]
        contenders = [Contender("refrain", dict(setting=setting, by=by))
                      for setting in settings for by in ("setting", "plan")]
        contest = Contest(servers, contenders, self.options.most_tries)
        measure_bytes(contest)
        for index in range(self.options.rounds):
            contest.round(index)
        self.save("plan", [contender.result() for contender in contenders])
        servers["refrain"].close()
        say("plans raced")

    def profile(self):
        profiles = {}
        for name in ("S", "M"):
            server = self.start("refrain", RACES[name])
            for setting in ("none", "full:uniform:1"):
                server.ask("step", setting=setting)
                profiles[f"{name} {setting}"] = server.ask("profile", setting=setting,
                                                           rounds=5)["ops"]
            server.close()
        self.save("profile", profiles)

    def malloc(self):
        found = {}
        for name, (program, environment) in MALLOC.items():
            servers = self.start_both(RACES["S"])
            servers["changed"] = self.start(program, RACES["S"], environment)
            with tempfile.TemporaryDirectory() as folder:
                servers["refrain"].ask("dump", dir=folder)
                for side, server in servers.items():
                    if "peer" in (side, program) and side != "refrain":
                        server.ask("load", dir=folder)
            contenders = malloc_contenders(program)
            contest = Contest(servers, contenders, self.options.most_tries)
            contest.round(0)  # to warm up
            for contender in contenders:
                contender.forget()
            for index in range(self.options.rounds):
                contest.round(index)
            for server in servers.values():
                server.close()
            found[name] = [contender.result() for contender in contenders]
            self.save("malloc", found)
            say(f"malloc: {name}")

    def startup(self):
        refrain = str(self.options.bin / "refrain")
        commands = {"--help": [refrain, "--help"],
                    "ledger": [refrain, "ledger", "--model", "llama3-70b", "--seq", "4096"],
                    "plan": [refrain, "plan", "--model", "llama3-405b", "--seq", "8192",
                             "--micro-batch", "1", "--dtype", "bf16", "--memory-budget", "5400GiB"],
                    "ranks": [refrain, "plan", "--model", "llama3-70b", "--hardware", "h100-80gb",
                              *"--tp 4 --pp 4 --vpp 5 --dp 2 --global-batch 32 --precision "
                              "fp8-current --budget 76GiB".split()],
                    "many ranks": [refrain, "plan", "--model", "llama31_405b", "--hardware",
                                   "h100-80gb", *"--tp 8 --pp 16 --vpp 8 --dp 8 --global-batch 256 "
                                   "--seq 8192 --precision fp8-current --account-for-embedding "
                                   "--account-for-loss".split()],
                    "check": [refrain, "check", "--model", "qwen3_30b_a3b", "-pp", "4", "-ep", "8",
                              "--recompute_modules", "layernorm", "mlp"]}
        self.save("startup", {name: dict(command=" ".join(["refrain", *command[1:]]),
                                         ms=wall_ms(command, 15 if "ranks" in name else 100))
                              for name, command in commands.items()})

    def check(self):
        """Every recorded verdict of every release in one batch, on one core."""
        refrain = str(self.options.bin / "refrain")
        records = b"".join(gzip.decompress(path.read_bytes()) for path in
                           sorted((ROOT / "tests/cases/conformance").glob("*.jsonl.gz")))
        with tempfile.NamedTemporaryFile() as file:
            file.write(records)
            file.flush()
            self.save("check", dict(configurations=records.count(b"\n"),
                                    ms=wall_ms([refrain, "check", "--batch", file.name], runs=15)))

    def machine(self):
        cpu = next(line.partition(":")[2].strip() for line in open("/proc/cpuinfo")
                   if line.startswith("model name"))
        flags = pathlib.Path("/proc/cpuinfo").read_text()
        vectors = "AVX-512" if " avx512f" in flags else "AVX2" if " avx2" in flags else ""
        self.save("machine", dict(cpu=cpu, vectors=vectors, cores=os.cpu_count(),
                                  system=f"{platform.system()} {platform.machine()}",
                                  date=datetime.date.today().isoformat()))


def interleaved(race):
    """The two programs in alternation, and Refrain without recompute twice: it shows the noise."""
    ours = [Contender("refrain", dict(setting=s, replay=r, attention=a))
            for s, r, a in race.settings]
    ours.append(Contender("refrain", dict(ours[0].fields)))
    peers = [Contender("peer", dict(mode=mode)) for mode in race.peer_modes]
    order = []
    while ours or peers:
        order += ours[:1] + peers[:1]
        ours, peers = ours[1:], peers[1:]
    return order


def malloc_contenders(program):
    """Refrain, the peer where it is what changes, and the program as changed."""
    contenders = []
    for mode, setting in tables.EQUALS.items():
        for side in ("refrain", "changed") if program == "refrain" else ("refrain", "peer",
                                                                         "changed"):
            ours = "refrain" in (side, program)
            contenders.append(Contender(side, dict(setting=setting) if ours else dict(mode=mode)))
    return contenders


def compare(servers, contenders, folder):
    """Starts both sides from the same numbers, and holds their gradients against each other."""
    refrain, peer = servers["refrain"], servers["peer"]
    refrain.ask("dump", dir=folder)
    peer.ask("load", dir=folder)
    found = dict(worst_error=0.0, hashes={})
    for contender in contenders:
        if contender.program == "refrain":
            continue
        peer.ask("gradients", mode=contender.fields["mode"], dir=folder)
        for attention in ("fused", "unfused"):
            answer = refrain.ask("gradients", attention=attention, dir=folder)
            found["worst_error"] = max(found["worst_error"], answer["worst_error"])
            if not answer["worst_error"] < MOST_ERROR:
                raise SystemExit(f"error: {contender}: gradient of {answer['worst']} is off by "
                                 f"{answer['worst_error']}")
            found["hashes"][attention] = answer["grad_hash"]
    for contender in contenders:
        if contender.program != "refrain":
            continue
        answer = refrain.ask("gradients", dir=folder, **contender.fields)
        if answer["grad_hash"] != found["hashes"][contender.fields["attention"]]:
            raise SystemExit(f"error: {contender} has other gradients than no recompute")
    return found


def measure_bytes(contest):
    """Peaks, in steps that are not timed and warm up."""
    for contender in contest.contenders:
        if contender.program == "peer":
            answer = contest.servers["peer"].ask("peak", **contender.fields)
        else:
            answer = contest.servers["refrain"].ask("step", **contender.fields)
            if answer["peak_bytes"] != answer["ledger_bytes"]:
                raise SystemExit(f"error: {contender}: {answer['peak_bytes']} bytes measured, "
                                 f"{answer['ledger_bytes']} by the ledger")
        contender.facts = {k: v for k, v in answer.items() if k.endswith("_bytes")}


def wall_ms(command, runs):
    """Of each run, from its start to its end."""
    found = []
    for _ in range(runs):
        start = time.perf_counter()
        child = os.posix_spawn(command[0], command, os.environ, file_actions=[
            (os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)])
        _, status = os.waitpid(child, 0)
        found.append(round(1e3 * (time.perf_counter() - start), 3))
        if status != 0:
            raise SystemExit(f"error: {' '.join(command)} failed")
    return found


def build_server(folder):
    """Builds the server into build/, with what `make build` has built there."""
    say("building refrain-step-server")
    for command in (["cmake", "--preset", "release"],
                    ["cmake", "--build", "--preset", "release", "--target", "refrain-step-server",
                     "refrain"]):
        subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return folder


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="S,M,plan,profile,malloc,startup,check", help="parts, by commas")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--most-tries", type=int, default=MOST_TRIES,
                        help="of a step, where other processes disturb it; 1: take what comes")
    parser.add_argument("--realtime", action="store_true",
                        help="run both sides at real-time priority, on a machine with company")
    parser.add_argument("--threads", type=int, default=min(2, os.cpu_count()))
    parser.add_argument("--bin", type=pathlib.Path, help="programs; default: build/bin, built now")
    parser.add_argument("--peer-python", type=pathlib.Path,
                        default=ROOT / ".venv-peer" / "bin" / "python")
    parser.add_argument("--results", type=pathlib.Path, default=ROOT / "bench" / "results.json")
    parser.add_argument("--page", type=pathlib.Path, default=ROOT / "docs" / "performance.md")
    parser.add_argument("--render", action="store_true", help="measure nothing")
    options = parser.parse_args()
    if not options.page.exists():
        parser.error(f"{options.page} does not exist: tables are put between its markers")
    runner = Runner(options)
    if not options.render:
        options.bin = options.bin or build_server(ROOT / "build" / "bin")
        if not options.peer_python.exists():
            parser.error(f"{options.peer_python} does not exist: run tools/setup.sh peer")
        runner.machine()
        for part in options.only.split(","):
            runner.race(part) if part in RACES else getattr(runner, part)()
    tables.render(runner.results, options.page)
    say(f"tables written to {options.page}")


if __name__ == "__main__":
    main()
