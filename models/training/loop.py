"""Training in steps that can be interrupted and gone on with at any time."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from pincite.model.errors import ConfigError
from pincite.search.calibration import Calibration, calibration_error, fitted, threshold_for
from pincite.store.files import Array, replaced
from training.groups import Group, PairTokens, batches, split
from training.network import MATCH, OWN, Network

PROMISED = 0.9
CHECKPOINT, EVERY = "checkpoint.npz", 100
LOOKED_AT = 1000  # held-out groups that the calibration is fitted to and judged by
HALVES = 100  # ways to fit to one half and judge by the other: few pairs are above a threshold


@dataclass(frozen=True, slots=True)
class Plan:
    """How training goes; a checkpoint goes on only with the plan that it was made with."""

    steps: int = 1100
    groups: int = 8  # a step
    rivals: int = 3
    max_tokens: int = 112
    frozen_layers: int = 3
    rate: float = 4e-5
    own_rate: float = 3e-4  # of what the encoder did not have
    warm_up: int = 150
    pair_loss: float = 0.3  # share of looking at each pair alone, beside choosing among a group


@dataclass(frozen=True, slots=True)
class Progress:
    step: int
    steps: int
    loss: float


class Training:
    """Weights, the optimiser's memory, and the number of the next step."""

    def __init__(
        self, weights: Mapping[str, Array], groups: Sequence[Group], tokenizer: Any, plan: Plan
    ) -> None:
        self.torch = import_module("torch")  # late: groups and export do without
        self.plan = plan
        self.network = Network(weights, plan.frozen_layers)
        self.trained_on, self.held_out = split(groups)
        self.tokens = PairTokens(tokenizer, plan.max_tokens)
        self.step = 0
        names = self.network.trained
        own = [n for n in names if n in OWN or n in MATCH]
        rest = [n for n in names if n not in own]
        self._names = [*rest, *own]
        self.optimiser = self.torch.optim.AdamW(
            [
                {"params": [self.network.weights[n] for n in rest], "lr": plan.rate},
                {"params": [self.network.weights[n] for n in own], "lr": plan.own_rate},
            ],
            weight_decay=0.01,
        )

    def run(self, folder: Path, *, until: int | None = None) -> Iterator[Progress]:
        """Train, and yield the loss of every step; the folder gets a checkpoint now and then."""
        last = min(self.plan.steps, until or self.plan.steps)
        steps = batches(self.trained_on, self.plan.groups, self.plan.rivals, self.step, last)
        for pairs in steps:
            loss = self._learn(pairs)
            self.step += 1
            if self.step % EVERY == 0 or self.step == last:
                self.save(folder)
            yield Progress(self.step, self.plan.steps, loss)

    def _learn(self, pairs: Sequence[tuple[str, str]]) -> float:
        torch, functional, plan = self.torch, self.torch.nn.functional, self.plan
        for group, rate in zip(
            self.optimiser.param_groups, (plan.rate, plan.own_rate), strict=True
        ):
            start = min(1.0, (self.step + 1) / plan.warm_up)
            group["lr"] = rate * start * max(0.02, 1 - self.step / plan.steps)
        logits = self.network.logits(self.tokens.batch(pairs)).view(-1, plan.rivals + 2)
        right = torch.zeros_like(logits)
        right[:, 0] = 1
        first = torch.zeros(len(logits), dtype=torch.long)
        alone = functional.binary_cross_entropy_with_logits(
            logits, right, pos_weight=torch.tensor(float(plan.rivals))
        )
        loss = functional.cross_entropy(logits, first) + plan.pair_loss * alone
        self.optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_([self.network.weights[n] for n in self._names], 1.0)
        self.optimiser.step()
        return float(loss.item())

    def save(self, folder: Path) -> None:
        """Write a checkpoint: arrays and JSON, nothing that runs when it is read."""
        folder.mkdir(parents=True, exist_ok=True)
        arrays = {f"weight:{n}": self.network.weights[n].detach().numpy() for n in self._names}
        for name in self._names:
            for part, value in self.optimiser.state.get(self.network.weights[name], {}).items():
                arrays[f"{part}:{name}"] = value.numpy()
        plan = json.dumps({**asdict(self.plan), "step": self.step})
        with replaced(folder / CHECKPOINT) as file:
            np.savez(file, plan=np.frombuffer(plan.encode(), dtype=np.uint8), **arrays)

    def resume(self, folder: Path) -> bool:
        """Go on where a checkpoint of the same plan ended; False if there is none."""
        file = folder / CHECKPOINT
        if not file.is_file():
            return False
        with np.load(file, allow_pickle=False) as arrays:
            plan = json.loads(arrays["plan"].tobytes())
            self.step = plan.pop("step")
            if plan != asdict(self.plan):
                raise ConfigError(
                    f"{file} was made with another plan", hint="give another folder, or delete it"
                )
            for name in self._names:
                weight = self.network.weights[name]
                weight.data = self.torch.tensor(arrays[f"weight:{name}"])
                parts = [p for p in ("step", "exp_avg", "exp_avg_sq") if f"{p}:{name}" in arrays]
                self.optimiser.state[weight] = {
                    part: self.torch.tensor(arrays[f"{part}:{name}"]) for part in parts
                }
        return True


@dataclass(frozen=True, slots=True)
class Calibrated:
    """A calibration, and how such a one does on groups that it was not fitted to."""

    calibration: Calibration
    error: float
    threshold: float  # above it nine of ten were right where it was chosen
    precision: float  # and this share on the other groups


def calibrated(held_out: Sequence[Group], logits: Any) -> Calibrated:
    """Return a calibration fitted to all groups, and what one of half of them does on the others.

    ``logits`` scores texts for a question, as the served model does: that one is calibrated.
    """
    looked_at = held_out[:LOOKED_AT]
    scored = [list(logits(group.query, list(group.texts))) for group in looked_at]
    halves = [_half(scored, np.random.default_rng(seed)) for seed in range(HALVES)]
    errors, thresholds, shares = zip(*halves, strict=True)
    found = [share for share in shares if share is not None]
    return Calibrated(
        fitted(*_pairs(scored)),
        float(np.mean(errors)),
        float(np.mean(thresholds)),
        float(np.mean(found)) if found else 0.0,
    )


def _half(
    scored: Sequence[Sequence[float]], dice: np.random.Generator
) -> tuple[float, float, float | None]:
    """Return what a calibration of half of the groups does on the other half.

    Its error, the threshold that promises, and the share that is right above it, if any are.
    """
    order = dice.permutation(len(scored))
    own, others = np.array_split(order, 2)
    logits, is_right = _pairs([scored[i] for i in own])
    calibration = fitted(logits, is_right)
    bound = threshold_for([calibration.probability(x) for x in logits], is_right, PROMISED)
    logits, is_right = _pairs([scored[i] for i in others])
    said = [calibration.probability(x) for x in logits]
    above = [right for p, right in zip(said, is_right, strict=True) if p >= bound]
    precision = sum(above) / len(above) if above else None
    return calibration_error(said, is_right), bound, precision


def _pairs(scored: Sequence[Sequence[float]]) -> tuple[list[float], list[bool]]:
    """Return all scores, and which of them are of the first text of a group: the right one."""
    pairs = [(score, place == 0) for each in scored for place, score in enumerate(each)]
    return [score for score, _ in pairs], [is_right for _, is_right in pairs]
