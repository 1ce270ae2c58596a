#!/usr/bin/env python3
"""PyTorch eager's side of the race: commands as JSON lines on stdin, answers on stdout.

    peer_torch.py --layers 8 --hidden 512 --heads 8 --kv-heads 4 --ffn 1408 --vocab 8192
                  --seq 512 --micro-batch 4 --threads 2

    {"cmd": "hello"}                           versions, threads, tokens a step
    {"cmd": "load", "dir": DIR}                takes weights and batch from DIR, forgets moments
    {"cmd": "step", "mode": MODE}              one training step: ms, loss
    {"cmd": "peak", "mode": MODE}              one training step: exact peak of the allocator
    {"cmd": "gradients", "mode": MODE, "dir": DIR}  writes the gradients of a step into DIR

MODE is what activation checkpointing does, by torch.utils.checkpoint without reentrance:

    none          nothing
    full          every layer is a checkpoint; uniform:K makes one of every K layers
    mlp, core_attn, layernorm    the modules of that name are checkpoints
    sac_mm        every layer is a selective checkpoint that saves all matmuls and attention
    sac_half_mm   the same, but every second matmul runs again (torchtitan's per-op policy)

There is one set of weights; a mode is an argument of the forward pass, so modes can alternate.
"""
import argparse
import functools
import json
import os
import pathlib
import sys
import time
from dataclasses import dataclass

os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # or the profiler remarks on absent GPUs

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import (CheckpointPolicy, checkpoint,
                                    create_selective_checkpoint_contexts)

EPS, ROPE_BASE = 1e-5, 10000.0
# The learning rate of bench/lanes.h, which says why it is so small.
ADAMW = dict(lr=1e-6, betas=(0.9, 0.95), eps=1e-8)
WEIGHT_DECAY = 0.1

aten = torch.ops.aten
MATMULS = {aten.mm.default, aten.addmm.default}
ATTENTION = {aten._scaled_dot_product_flash_attention_for_cpu.default}


@dataclass(frozen=True)
class Mode:
    layers: int = 0        # consecutive layers that make a checkpoint; 0: layers make none
    module: str = ""       # the kind of module that makes a checkpoint of its own
    recompute_every: int = 0  # selective checkpoint: one in so many matmuls runs again
    selective: bool = False


def mode_of(name):
    known = {
        "none": Mode(),
        "full": Mode(layers=1),
        "sac_mm": Mode(layers=1, selective=True),
        "sac_half_mm": Mode(layers=1, selective=True, recompute_every=2),
    }
    known.update({module: Mode(module=module) for module in ("mlp", "core_attn", "layernorm")})
    if name.startswith("uniform:"):
        return Mode(layers=int(name.removeprefix("uniform:")))
    return known[name]


def again(function, *args, **options):
    """`function` as a checkpoint. The model has no dropout, so no generator is put back."""
    return checkpoint(function, *args, use_reentrant=False, preserve_rng_state=False, **options)


def selective_contexts(recompute_every):
    matmuls = {"forward": 0, "recompute": 0}

    def policy(context, op, *args, **kwargs):
        if op in ATTENTION:
            return CheckpointPolicy.MUST_SAVE
        if op not in MATMULS:
            return CheckpointPolicy.PREFER_RECOMPUTE
        if recompute_every:
            phase = "recompute" if context.is_recompute else "forward"
            matmuls[phase] += 1
            if matmuls[phase] % recompute_every == 0:
                return CheckpointPolicy.PREFER_RECOMPUTE
        return CheckpointPolicy.MUST_SAVE

    return create_selective_checkpoint_contexts(policy)


class Pass:
    """What a forward pass needs besides x: its mode, and the RoPE tables [s, 1, d]."""

    def __init__(self, mode, cos, sin):
        self.mode, self.cos, self.sin = mode, cos, sin

    def run(self, module, function, *args):
        return again(function, *args) if self.mode.module == module else function(*args)

    def rotate(self, x):  # [b, s, heads, d]
        first, second = x.chunk(2, dim=-1)
        return x * self.cos + torch.cat((-second, first), dim=-1) * self.sin


class Attention(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.head_dim = shape.hidden // shape.heads
        linear = functools.partial(nn.Linear, bias=False)
        self.norm = nn.RMSNorm(shape.hidden, eps=EPS)
        self.q = linear(shape.hidden, shape.heads * self.head_dim)
        self.k = linear(shape.hidden, shape.kv_heads * self.head_dim)
        self.v = linear(shape.hidden, shape.kv_heads * self.head_dim)
        self.out_proj = linear(shape.heads * self.head_dim, shape.hidden)

    def core(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)

    def forward(self, x, now):
        b, s, _ = x.shape
        x = now.run("layernorm", self.norm, x)
        q, k, v = (project(x).view(b, s, -1, self.head_dim) for project in (self.q, self.k, self.v))
        q, k, v = (t.transpose(1, 2) for t in (now.rotate(q), now.rotate(k), v))
        out = now.run("core_attn", self.core, q, k, v)
        return self.out_proj(out.transpose(1, 2).reshape(b, s, -1))


class Mlp(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.norm = nn.RMSNorm(shape.hidden, eps=EPS)
        self.gate = nn.Linear(shape.hidden, shape.ffn, bias=False)
        self.up = nn.Linear(shape.hidden, shape.ffn, bias=False)
        self.down_proj = nn.Linear(shape.ffn, shape.hidden, bias=False)

    def core(self, x):
        return self.down_proj(F.silu(self.gate(x)) * self.up(x))

    def forward(self, x, now):
        return now.run("mlp", self.core, now.run("layernorm", self.norm, x))


class Layer(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.attn, self.mlp = Attention(shape), Mlp(shape)

    def forward(self, x, now):
        x = x + self.attn(x, now)
        return x + self.mlp(x, now)


class Head(nn.Linear):
    def __init__(self, shape):
        super().__init__(shape.hidden, shape.vocab, bias=False)
        self.norm = nn.RMSNorm(shape.hidden, eps=EPS)

    def forward(self, x):
        return super().forward(self.norm(x))


class Model(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.embedding = nn.Embedding(shape.vocab, shape.hidden)
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape.layers))
        self.head = Head(shape)
        head_dim = shape.hidden // shape.heads
        frequencies = ROPE_BASE ** (-torch.arange(0, head_dim, 2, dtype=torch.float64) / head_dim)
        angles = torch.outer(torch.arange(shape.seq, dtype=torch.float64), frequencies)
        angles = angles.repeat(1, 2).unsqueeze(1)
        self.register_buffer("cos", angles.cos().float(), persistent=False)
        self.register_buffer("sin", angles.sin().float(), persistent=False)

    def forward(self, tokens, targets, mode):
        now = Pass(mode, self.cos, self.sin)

        def group(first, x):
            for layer in self.layers[first:first + max(mode.layers, 1)]:
                x = layer(x, now)
            return x

        options = {}
        if mode.selective:
            options["context_fn"] = functools.partial(selective_contexts, mode.recompute_every)
        x = self.embedding(tokens)
        for first in range(0, len(self.layers), max(mode.layers, 1)):
            x = again(group, first, x, **options) if mode.layers else group(first, x)
        return F.cross_entropy(self.head(x).flatten(0, 1), targets.flatten())


def storage_bytes(tensors):
    """Bytes of the distinct storages behind `tensors`."""
    return sum({t.untyped_storage().data_ptr(): t.untyped_storage().nbytes()
                for t in tensors}.values())


def highest_sum(profile):
    """Most bytes allocated and not yet freed at any moment of a profile, beyond its beginning."""
    changes, pending = [], list(profile.kineto_results.experimental_event_tree())
    while pending:
        event = pending.pop()
        pending.extend(event.children)
        if event.name == "[memory]" and event.typed[1].device.type == "cpu":
            changes.append((event.start_time_ns, event.typed[1].alloc_size))
    held = highest = 0
    for _, size in sorted(changes, key=lambda change: change[0]):
        held += size
        highest = max(highest, held)
    return highest


class Server:
    def __init__(self, shape):
        self.shape = shape
        self.model = Model(shape)
        self.tokens = self.targets = None
        self.optimizer = self.make_optimizer()

    def make_optimizer(self):
        """AdamW as Refrain has it: no decay on the weights of norms."""
        parameters = list(self.model.parameters())
        groups = [
            dict(params=[p for p in parameters if p.dim() > 1], weight_decay=WEIGHT_DECAY),
            dict(params=[p for p in parameters if p.dim() == 1], weight_decay=0.0),
        ]
        return torch.optim.AdamW(groups, fused=True, **ADAMW)

    def hello(self, command):
        return dict(program=f"PyTorch {torch.__version__} eager", threads=torch.get_num_threads(),
                    tokens=self.shape.seq * self.shape.micro_batch)

    def load(self, command):
        folder = pathlib.Path(command["dir"])
        with torch.no_grad():
            for name, parameter in self.model.named_parameters():
                numbers = torch.from_file(str(folder / name), size=parameter.numel())
                parameter.copy_(numbers.view_as(parameter))
        self.tokens, self.targets = (self.read_batch(folder / f) for f in ("tokens", "targets"))
        self.optimizer = self.make_optimizer()
        return {}

    def read_batch(self, path):
        shape = (self.shape.micro_batch, self.shape.seq)
        numbers = torch.from_file(str(path), size=shape[0] * shape[1], dtype=torch.int32)
        return numbers.view(shape).long()

    def forward_backward(self, mode):
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.model(self.tokens, self.targets, mode)
        loss.backward()
        return loss

    def train(self, mode):
        loss = self.forward_backward(mode)
        self.optimizer.step()
        return loss.item()

    def step(self, command):
        mode = mode_of(command["mode"])
        start = time.perf_counter()
        loss = self.train(mode)
        return dict(ms=1e3 * (time.perf_counter() - start), loss=loss)

    def peak(self, command):
        """Gradients of the step before are released first, as they are in training."""
        mode = mode_of(command["mode"])
        if not self.optimizer.state:  # the first step makes the moments
            self.train(mode)
        self.optimizer.zero_grad(set_to_none=True)
        moments = [t for state in self.optimizer.state.values() for t in state.values()
                   if torch.is_tensor(t)]
        before = storage_bytes([*self.model.parameters(), *self.model.buffers(), *moments,
                                self.tokens, self.targets])
        with torch.autograd.profiler.profile(profile_memory=True) as profile:
            loss = self.train(mode)
        return dict(peak_bytes=before + highest_sum(profile), state_bytes=before, loss=loss)

    def gradients(self, command):
        loss = self.forward_backward(mode_of(command["mode"]))
        folder = pathlib.Path(command["dir"])
        for name, parameter in self.model.named_parameters():
            parameter.grad.numpy().tofile(folder / name)
        self.optimizer.zero_grad(set_to_none=True)
        return dict(loss=loss.item())


COMMANDS = {f.__name__: f for f in (Server.hello, Server.load, Server.step, Server.peak,
                                    Server.gradients)}


def answer(server, line):
    try:
        command = json.loads(line)
        return COMMANDS[command["cmd"]](server, command)
    except Exception as failure:  # whatever it was, the runner shows it and ends the race
        return dict(error=f"{type(failure).__name__}: {failure}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("layers", "hidden", "heads", "kv-heads", "ffn", "vocab", "seq", "micro-batch"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--threads", type=int, default=2)
    shape = parser.parse_args()
    torch.set_num_threads(shape.threads)
    server = Server(shape)
    for line in sys.stdin:
        print(json.dumps(answer(server, line)), flush=True)


if __name__ == "__main__":
    main()
