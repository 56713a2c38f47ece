"""The cross-encoder as a torch network, for training; ``export.py`` writes the same as ONNX."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from pincite.store.files import Array
from training.graph import EPSILON, HEADS, LAYERS, WIDTH
from training.groups import Batch

# A pair whose words match fully starts above 0, one whose words do not far below.
START_SCALE, START_BIAS = 12.0, -8.0
OWN = ("gate.weight", "gate.bias", "dense.weight", "dense.bias", "out.weight", "out.bias")
MATCH = ("match.scale", "match.bias")


class Network:
    """Weights by name, and what they compute. The lower layers are kept as they are."""

    def __init__(self, weights: Mapping[str, Array], frozen_layers: int) -> None:
        self.torch = import_module("torch")  # late: groups and export do without
        self.frozen = frozen_layers
        self.weights: dict[str, Any] = {}
        for name, value in weights.items():
            if not name.startswith("pooler") and value.dtype.kind == "f":
                self.weights[name] = self.torch.tensor(value, dtype=self.torch.float32)
        self._add_own()
        for name in self.trained:
            self.weights[name].requires_grad_(True)

    def _add_own(self) -> None:
        torch, shapes = self.torch, {"gate": (1, WIDTH), "dense": (WIDTH, 2 * WIDTH)}
        generator = torch.Generator().manual_seed(1)
        shapes["out"] = (1, WIDTH)
        for name, shape in shapes.items():
            # Only the hidden layer starts with something: the rest adds nothing at first.
            bound = shape[1] ** -0.5 if name == "dense" else 0.0
            start = (torch.rand(shape, generator=generator) * 2 - 1) * bound
            self.weights.setdefault(f"{name}.weight", start)
            self.weights.setdefault(f"{name}.bias", torch.zeros(shape[0]))
        self.weights.setdefault("match.scale", torch.tensor([START_SCALE]))
        self.weights.setdefault("match.bias", torch.tensor([START_BIAS]))

    @property
    def trained(self) -> list[str]:
        """The weights that change."""
        frozen = ["embeddings", *(f"encoder.layer.{n}." for n in range(self.frozen))]
        return [name for name in self.weights if not name.startswith(tuple(frozen))]

    def arrays(self) -> dict[str, Array]:
        """Return all weights as plain arrays."""
        return {name: value.detach().numpy() for name, value in self.weights.items()}

    def logits(self, batch: Batch) -> Any:
        """Return one score a pair."""
        value = self.encoded(batch)
        return self.matched(value, batch) + self._linear(self.pooled(value, batch), "out").squeeze(
            -1
        )

    def encoded(self, batch: Batch) -> Any:
        """Return the vectors of all tokens after they have read each other."""
        torch = self.torch
        ids, types = torch.from_numpy(batch.ids), torch.from_numpy(batch.types)
        bias = torch.where(torch.from_numpy(batch.is_token), 0.0, -1e4)[:, None, None, :]
        with torch.no_grad():
            value = self.weights["embeddings.word_embeddings.weight"][ids]
            value = value + self.weights["embeddings.position_embeddings.weight"][: ids.shape[1]]
            value = value + self.weights["embeddings.token_type_embeddings.weight"][types]
            value = self._norm(value, "embeddings.LayerNorm")
            for number in range(self.frozen):
                value = self._layer(value, number, bias)
        for number in range(self.frozen, LAYERS):
            value = self._layer(value, number, bias)
        return value

    def matched(self, value: Any, batch: Batch) -> Any:
        """Return how well the question's words find their like in the passage."""
        torch, functional = self.torch, self.torch.nn.functional
        is_question = torch.from_numpy(batch.is_question)
        is_passage = torch.from_numpy(batch.is_passage)
        unit = functional.normalize(value, dim=-1)
        near = (unit @ unit.transpose(1, 2)).masked_fill(~is_passage[:, None, :], -1)
        gate = self._linear(value, "gate").squeeze(-1).clamp(-4, 4)
        weight = torch.exp(gate) * is_question
        match = (weight * near.amax(-1)).sum(-1) / weight.sum(-1).clamp(min=1e-6)
        return self.weights["match.scale"] * match + self.weights["match.bias"]

    def pooled(self, value: Any, batch: Batch) -> Any:
        """Return what a small network makes of each pair as a whole."""
        is_passage = self.torch.from_numpy(batch.is_passage)
        count = is_passage.sum(1, keepdim=True).clamp(min=1)
        mean = (value * is_passage[..., None]).sum(1) / count
        both = self.torch.cat([value[:, 0], mean], -1)
        return self.torch.tanh(self._linear(both, "dense"))

    def _linear(self, value: Any, name: str) -> Any:
        return self.torch.nn.functional.linear(
            value, self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]
        )

    def _norm(self, value: Any, name: str) -> Any:
        weight, bias = self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]
        return self.torch.nn.functional.layer_norm(value, (WIDTH,), weight, bias, EPSILON)

    def _layer(self, value: Any, number: int, bias: Any) -> Any:
        name, (pairs, length, _) = f"encoder.layer.{number}", value.shape

        def heads(part: str) -> Any:
            found = self._linear(value, f"{name}.attention.self.{part}")
            return found.view(pairs, length, HEADS, -1).transpose(1, 2)

        mixed = self.torch.nn.functional.scaled_dot_product_attention(
            heads("query"), heads("key"), heads("value"), attn_mask=bias
        )
        mixed = mixed.transpose(1, 2).reshape(pairs, length, WIDTH)
        attended = self._linear(mixed, f"{name}.attention.output.dense") + value
        value = self._norm(attended, f"{name}.attention.output.LayerNorm")
        wide = self.torch.nn.functional.gelu(self._linear(value, f"{name}.intermediate.dense"))
        narrow = self._linear(wide, f"{name}.output.dense")
        return self._norm(narrow + value, f"{name}.output.LayerNorm")
