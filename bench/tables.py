"""bench/results.json as the Markdown tables of docs/performance.md."""
import re
import statistics

BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
GOAL = 1.15  # tokens/s against the peer at equal recompute, and at no more bytes

# What the peer's modes are called here, where they have an equal.
EQUALS = {"none": "none", "full": "full:uniform:1", "mlp": "selective:mlp"}


def with_flat_lists(text):
    """JSON text with its lists of numbers on one line each."""
    return re.sub(r"\[\s+([-\d.,e\s]+?)\s+\]", lambda m: "[" + " ".join(m[1].split()) + "]", text)


def quartiles(numbers):
    if len(numbers) < 2:
        return numbers[0], numbers[0], numbers[0]
    return tuple(statistics.quantiles(numbers, n=4, method="inclusive"))


def times(a, b):
    """How many times as fast as `b` is `a`: quartiles of the ratios of the same round."""
    return quartiles([other / own for own, other in zip(a["ms"], b["ms"])])


def spread(three, digits=2):
    low, middle, high = three
    return f"{middle:.{digits}f}x ({low:.{digits}f} to {high:.{digits}f})"


def megabytes(number):
    return f"{number / 1e6:.1f}".replace("-0.0", "0.0")


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines) + "\n"


class Race:
    def __init__(self, name, result):
        self.name, self.result = name, result
        self.contenders = result["contenders"]
        self.rounds = min(len(c["ms"]) for c in self.contenders)

    def refrain(self, setting, replay="demand", attention="fused"):
        return next((c for c in self.ours() if (c["setting"], c["replay"], c["attention"])
                     == (setting, replay, attention)), None)

    def ours(self):
        return [c for c in self.contenders if c["program"] == "refrain"]

    def peers(self):
        return [c for c in self.contenders if c["program"] == "peer"]

    def peer(self, mode):
        return next((c for c in self.peers() if c["mode"] == mode), None)

    def speed(self, contender):
        return f"{1e3 * self.result['tokens'] / statistics.median(contender['ms']):.0f}"

    def title(self):
        sizes = self.result["sizes"]
        return (f"{self.name} (`{self.result['model']}`: {sizes['layers']} layers, hidden "
                f"{sizes['hidden']}, {sizes['heads']} heads, {sizes['kv-heads']} kv heads, ffn "
                f"{sizes['ffn']}, vocabulary {sizes['vocab']}; sequence {self.result['seq']}, "
                f"micro-batch {self.result['micro_batch']})")


def verdict(ratio, goal):
    if ratio < 1:
        return "**slower**"
    return "" if ratio >= goal else f"below {goal}x"


def equal_recompute(races):
    rows = []
    for race in races:
        for mode, setting in EQUALS.items():
            peer, ours = race.peer(mode), race.refrain(setting)
            if not peer or not ours:
                continue
            ratio = times(ours, peer)
            share = ours["peak_bytes"] / peer["peak_bytes"]
            marks = [verdict(ratio[1], GOAL), "**more bytes**" if share > 1 else ""]
            rows.append([race.name, f"`{setting}`", race.speed(ours), race.speed(peer),
                         spread(ratio), megabytes(ours["peak_bytes"]),
                         megabytes(peer["peak_bytes"]), f"{share:.3f}x",
                         ", ".join(filter(None, marks))])
    return table(["shape", "setting", "Refrain tokens/s", "PyTorch tokens/s", "speed",
                  "Refrain peak MB", "PyTorch peak MB", "bytes", ""], rows)


def dominance(race):
    rows = []
    for peer in race.peers():
        fitting = [c for c in race.ours() if c["peak_bytes"] <= peer["peak_bytes"]
                   and c["replay"] == "demand" and c["attention"] == "fused"]
        if not fitting:
            rows.append([f"`{peer['mode']}`", megabytes(peer["peak_bytes"]), "none that fits", "",
                         "", "**no setting with as few bytes**"])
            continue
        best = max(fitting, key=lambda c: times(c, peer)[1])
        ratio = times(best, peer)
        rows.append([f"`{peer['mode']}`", megabytes(peer["peak_bytes"]), f"`{best['setting']}`",
                     megabytes(best["peak_bytes"]), spread(ratio), verdict(ratio[1], GOAL)])
    return table(["PyTorch", "peak MB", "Refrain", "peak MB", "speed", ""], rows)


def percent(contender, base):
    """Step time over that of `base`, in percent: quartiles of the rounds' ratios."""
    low, middle, high = (100 * (1 / ratio - 1) for ratio in reversed(times(contender, base)))
    return f"{middle:+.1f} % ({low:+.1f} to {high:+.1f})"


def pointwise(races):
    rows = []
    for race in races:
        none, ours = race.refrain("none"), race.refrain("selective:pointwise")
        freed = none["saved_bytes"] - ours["saved_bytes"]
        rows.append([race.name, percent(ours, none), megabytes(freed),
                     f"{100 * freed / none['saved_bytes']:.0f} %"])
    return table(["shape", "step time against `none`", "saved activations freed, MB", "of all"],
                 rows)


def policies(race):
    rows = []
    for demand in race.ours():
        region = race.refrain(demand["setting"], "region", demand["attention"])
        if demand["replay"] != "demand" or not region:
            continue
        ratio = times(demand, region)
        more = demand["peak_bytes"] - region["peak_bytes"]
        marks = ["**slower**" if ratio[2] < 1 else "", "**more bytes**" if more > 0 else ""]
        rows.append([f"`{demand['setting']}`", demand["attention"],
                     megabytes(demand["peak_bytes"]), megabytes(region["peak_bytes"]),
                     megabytes(more), race.speed(demand), race.speed(region), spread(ratio, 3),
                     ", ".join(filter(None, marks))])
    return table(["setting", "attention", "`demand` peak MB", "`region` peak MB", "difference MB",
                  "`demand` tokens/s", "`region` tokens/s", "speed of `demand`", ""], rows)


def everything(race):
    rows = []
    for ours in race.ours():
        none = race.refrain("none", attention=ours["attention"])
        control = ours is not none and ours["setting"] == "none"
        rows.append([f"`{ours['setting']}`" + (" again: the noise" if control else ""),
                     ours["replay"], ours["attention"], race.speed(ours),
                     percent(ours, none), megabytes(ours["peak_bytes"]),
                     megabytes(ours["saved_bytes"])])
    for peer in race.peers():
        rows.append([f"PyTorch `{peer['mode']}`", "", "", race.speed(peer),
                     percent(peer, race.peer("none")), megabytes(peer["peak_bytes"]), ""])
    return table(["setting", "replay", "attention", "tokens/s", "step time against `none`",
                  "peak MB", "saved activations MB"], rows)


def noise(race):
    result = race.result
    control = [c for c in race.ours() if c["setting"] == "none" and c["attention"] == "fused"][1]
    low, middle, high = times(control, race.refrain("none"))
    spreads = [100 * (q[2] - q[0]) / q[1] for q in (quartiles(c["ms"]) for c in race.contenders)]
    others = 100 * statistics.mean(share for c in race.contenders for share in c["others"])
    again = (f"; {result['repeated']} steps that met more than 4 % were taken again"
             if result["most_tries"] > 1 else "")
    first = ", at real-time priority" if result["realtime"] else ""
    return f"""\
{race.name}: {race.rounds} rounds of {len(race.contenders)} contenders, {result['threads']} \
threads each{first}. Refrain without recompute against itself: {middle:.3f}x ({low:.3f} to \
{high:.3f}). Interquartile spread of a contender's own times: {statistics.median(spreads):.1f} % \
of the median (worst {max(spreads):.1f} %). Other processes took at most {others:.1f} % of the \
machine{again}. Largest relative error of a gradient against PyTorch's: \
{result['gradients']['worst_error']:.1e}. Gradients of all Refrain settings of one attention: \
bitwise equal.
"""


def plan(contenders):
    rows = []
    for setting, planned in zip(contenders[::2], contenders[1::2]):
        ratio = times(planned, setting)
        rows.append([f"`{setting['setting']}`", megabytes(setting["peak_bytes"]),
                     megabytes(planned["peak_bytes"]), spread(ratio, 3),
                     "**slower**" if ratio[1] < 1 else ""])
    return table(["setting", "its peak MB: the budget", "peak of the plan MB",
                  "speed of the plan against the setting", ""], rows)


KINDS = {  # what an op's name ends with -> what it is
    "_proj": "linear: GEMM", "head.loss": "head and loss: GEMM", "attn.core": "attention",
    "norm": "norms", "act": "gated activation", "rope": "RoPE", "add": "residual additions",
    "embedding": "embedding",
}


def kind_of(op):
    if op["step"] == "update":
        return "AdamW"
    return next((kind for end, kind in KINDS.items() if op["op"].endswith(end)), "batch")


def profile(profiles):
    columns = []
    for ops in profiles.values():
        sums = {}
        for op in ops:
            ms, work = sums.get(kind_of(op), (0, 0))
            sums[kind_of(op)] = ms + op["ms"], work + op["gigaflops"]
        columns.append(sums)
    kinds = sorted(columns[0], key=lambda kind: -columns[0][kind][0])
    rows = [[kind] + [profile_cell(sums, kind) for sums in columns] for kind in kinds]
    return table(["ms, share of the step, GFLOP/s", *profiles], rows)


def profile_cell(sums, kind):
    ms, work = sums.get(kind, (0, 0))
    share = 100 * ms / sum(part for part, _ in sums.values())
    rate = f", {1e3 * work / ms:.0f}" if "GEMM" in kind or kind == "attention" else ""
    return f"{ms:.1f}, {share:.1f} %{rate}"


def malloc(found):
    rows = []
    for name, contenders in found.items():
        size = len(contenders) // len(EQUALS)
        for index, setting in enumerate(EQUALS.values()):
            sides = {c["program"]: c for c in contenders[index * size:(index + 1) * size]}
            unchanged = sides.get("peer", sides["refrain"])
            against = spread(times(sides["refrain"], sides["changed"]), 3)
            rows.append([name, f"`{setting}`", spread(times(sides["changed"], unchanged), 3),
                         against if "peer" in sides else ""])
    return table(["changed", "setting", "speed against unchanged", "speed of Refrain against it"],
                 rows)


def startup(found):
    rows = []
    for result in found.values():
        low, middle, high = quartiles(result["ms"])
        rows.append([f"`{result['command']}`", f"{middle:.1f} ms ({low:.1f} to {high:.1f})",
                     len(result["ms"])])
    return table(["command", "wall time, median (quartiles)", "runs"], rows)


def check(found):
    rates = sorted(found["configurations"] / ms * 1000 for ms in found["ms"])
    low, middle, high = quartiles(rates)
    return table(["`refrain check --batch`", "configurations a second, median (quartiles)", "runs"],
                 [[f"{found['configurations']} configurations, eight releases",
                   f"{middle:,.0f} ({low:,.0f} to {high:,.0f})", len(rates)]])


def sections(results):
    machine = results["machine"]
    races = [Race(name, results[name]) for name in ("S", "M") if name in results]
    programs = next((r.result["programs"].values() for r in races), [])
    yield "Machine", (f"{machine['cpu']} ({machine['vectors']}), {machine['cores']} cores, "
                      f"{machine['system']}, {machine['date']}. "
                      + "; ".join(programs) + ".\n")
    if races:
        yield "At equal recompute", equal_recompute(races)
        yield "The cheapest activations: `selective:pointwise`", pointwise(races)
    for race in races:
        yield (f"For each setting of PyTorch, the fastest of Refrain's with no more bytes "
               f"({race.name})", dominance(race))
        if policies(race).count("\n") > 2:
            yield f"Replay on demand and by regions ({race.name})", policies(race)
    for race in races:
        yield f"Everything measured: {race.title()}", everything(race)
    for part, title, text in (("plan", "Plans, each in the bytes of a setting (S)", plan),
                              ("profile", "Where a step of Refrain spends its time", profile),
                              ("malloc", "The part that malloc has in it", malloc),
                              ("startup", "Start-up", startup),
                              ("check", "Checks", check)):
        if part in results:
            yield title, text(results[part])
    if races:
        yield "Noise", "\n".join(map(noise, races))


def render(results, page):
    """Puts the tables between the markers of `page`, and leaves the rest of it alone."""
    text = "\n".join(f"### {title}\n\n{body}" for title, body in sections(results))
    before, _, rest = page.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    page.write_text(f"{before}{BEGIN}\n\n{text}\n{END}{after}")
