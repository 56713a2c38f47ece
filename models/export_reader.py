"""Make the reader that is served of a checkpoint: int8 ONNX, its facts, and a card for people.

    python models/export_reader.py CHECKPOINTS EXAMPLES.jsonl.gz TARGET

The quantised model is compared with the float one on held-out examples, and refused where both
mark another stretch too often. needs: onnx, onnxruntime (dependency group `models`).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

from pincite.store.files import Array
from reader_data import Example
from reader_network import KINDS, ReaderTokens, best_spans
from training.export import build_reader, save

CHECKPOINT = "reader.npz"
COMPARED = 200  # held-out examples that both models read
MIN_ALIKE = 0.9  # of their stretches have to be the same
# What it was trained on, with licences, as the card of a shipped model has to say.
DATA = {
    "SQuAD 2.0 dev, without the paragraphs of XQuAD": "CC BY-SA 4.0",
    "QAMR": "MIT",
    "CUAD, The Atticus Project": "CC BY 4.0",
    "MedQuAD": "CC BY 4.0",
    "BoolQ": "CC BY-SA 3.0",
    "ShARC": "CC BY-SA 3.0",
    "ConditionalQA": "CC BY-SA 4.0",
    "ContractNLI": "CC BY 4.0",
    "WikiTableQuestions, training split": "CC BY-SA 4.0",
    "FeTaQA": "CC BY-SA 4.0",
    "InfoTabS": "Apache-2.0",
    "statements of invented figures, made by models/reader_tables.py": "ours",
}
SERVED_TOKENS = 256  # a long question and a long window; training cut a few off sooner
CARD = Path(__file__).with_name("reader_card.md")


def read_checkpoint(folder: Path) -> tuple[dict[str, Array], dict[str, Any]]:
    """Return the weights of a checkpoint, and how it was trained."""
    with np.load(folder / CHECKPOINT, allow_pickle=False) as arrays:
        names = [name for name in arrays.files if name.startswith("weight:")]
        plan = json.loads(arrays["plan"].tobytes())
        return {name.removeprefix("weight:"): arrays[name] for name in names}, plan


def compared(
    one: Any, other: Any, tokens: ReaderTokens, examples: Sequence[Example]
) -> Mapping[str, float]:
    """Return how alike two models are: the same stretch, the same kind, and how far scores are."""
    same, kinds, far = [], [], []
    for example in examples:
        found = [_said(session, tokens, example) for session in (one, other)]
        same.append(found[0][0] == found[1][0])
        kinds.append(found[0][1] == found[1][1])
        far.append(abs(found[0][2] - found[1][2]))
    return {
        "span": float(np.mean(same)),
        "kind": float(np.mean(kinds)),
        "score": float(np.mean(far)),
    }


def _said(session: Any, tokens: ReaderTokens, example: Example) -> tuple[Any, str, float]:
    """Return the stretch, the kind and the score that a model gives an example."""
    labelled = tokens.labelled([example])
    given = {"input_ids": labelled.batch.ids, "token_type_ids": labelled.batch.types}
    answers, kinds, places = session.run(["answers", "answer_kinds", "token_places"], given)
    allowed = labelled.batch.is_passage & (np.arange(places.shape[1]) >= labelled.begins[:, None])
    (first, last, _), *_ = best_spans(places[..., 0], places[..., 1], allowed)
    return (first, last), KINDS[int(kinds[0].argmax())], float(answers[0])


def main() -> None:
    from train_reader import read_examples  # it needs torch; what is above does not

    checkpoints, data, target = map(Path, sys.argv[1:4])
    weights, plan = read_checkpoint(checkpoints)
    text = files("pincite.encode").joinpath("minilm", "tokenizer.json").read_text("utf-8")
    facts = {
        "max_tokens": SERVED_TOKENS,
        "kinds": list(KINDS),
        "plan": plan,
        "data": DATA,
        "examples_sha256": sha256(data.read_bytes()).hexdigest(),
    }
    whole = target.parent / f"{target.name}-float.onnx"
    save(weights, text, target, facts, make=build_reader, whole=whole)
    sessions = [onnxruntime.InferenceSession(file) for file in (whole, target / "model.onnx")]
    tokens = ReaderTokens(Tokenizer.from_str(text), plan["max_tokens"])
    answered = [each for each in read_examples(data)[1] if each.spans][:COMPARED]
    alike = compared(*sessions, tokens, answered)
    print(" ".join(f"{name} {value:.3f}" for name, value in alike.items()))
    if alike["span"] < MIN_ALIKE:
        raise SystemExit(f"int8 marks other words than float: {alike['span']:.3f} the same")
    table = "\n".join(f"| {name} | {licence} |" for name, licence in DATA.items())
    card = CARD.read_text(encoding="utf-8").format(
        data=table,
        examples=facts["examples_sha256"],
        same=alike["span"],
        kind=alike["kind"],
        tokens=SERVED_TOKENS,
        seen=plan["step"] * plan["size"],
        hours=plan["seconds"] / 3600,
        **{name: plan[name] for name in ("seed", "step", "size")},
    )
    (target / "MODEL_CARD.md").write_text(card, encoding="utf-8")


if __name__ == "__main__":
    main()
