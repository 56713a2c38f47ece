"""Make the reader that is served of a checkpoint: int8 ONNX, its facts, and a card for people.

    python models/export_reader.py CHECKPOINTS EXAMPLES.jsonl.gz TARGET

The quantised model is compared with the float one on held-out examples, and refused where it marks
answers worse. needs: onnx, onnxruntime (dependency group `models`).
"""

from __future__ import annotations

import gzip
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
from reader_network import KINDS, Labelled, ReaderTokens, best_spans, overlap
from training.export import build_reader, save

CHECKPOINT = "reader.npz"
COMPARED = 400  # held-out examples that both models read
MAX_LOSS = 0.01  # of the F1 of what they mark
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
# Of the training windows 57 in 100 answer, of ten candidates of a search one or two: that makes so
# many logits less.
PRIOR = -2.0
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
    """Return the F1 of what each of two models marks, and how often both say the same."""
    same, kinds = [], []
    f1: tuple[list[float], list[float]] = ([], [])
    for example in examples:
        labelled = tokens.labelled([example])
        if not labelled.spans[0]:
            continue
        found = [_said(session, labelled) for session in (one, other)]
        for own, (span, _) in zip(f1, found, strict=True):
            own.append(max(overlap(right, span) for right in labelled.spans[0]))
        same.append(found[0][0] == found[1][0])
        kinds.append(found[0][1] == found[1][1])
    values = {"f1": f1[0], "f1_int8": f1[1], "same": same, "kind": kinds}
    return {name: float(np.mean(each)) for name, each in values.items()}


def _said(session: Any, labelled: Labelled) -> tuple[tuple[int, int], str]:
    """Return the stretch and the kind that a model gives an example."""
    given = {"input_ids": labelled.batch.ids, "token_type_ids": labelled.batch.types}
    kinds, places = session.run(["answer_kinds", "token_places"], given)
    allowed = labelled.batch.is_passage & (np.arange(places.shape[1]) >= labelled.begins[:, None])
    (first, last, _), *_ = best_spans(places[..., 0], places[..., 1], allowed)
    return (first, last), KINDS[int(kinds[0].argmax())]


def main() -> None:
    from train_reader import read_examples  # it needs torch; what is above does not

    checkpoints, data, target = map(Path, sys.argv[1:4])
    weights, plan = read_checkpoint(checkpoints)
    text = files("pincite.encode").joinpath("minilm", "tokenizer.json").read_text("utf-8")
    facts = {
        "max_tokens": SERVED_TOKENS,
        "kinds": list(KINDS),
        "calibration": {"slope": 1.0, "offset": PRIOR},
        "plan": plan,
        "data": DATA,
        "examples_sha256": sha256(gzip.decompress(data.read_bytes())).hexdigest(),
    }
    whole = target.parent / f"{target.name}-float.onnx"
    save(weights, text, target, facts, make=build_reader, whole=whole)
    sessions = [onnxruntime.InferenceSession(file) for file in (whole, target / "model.onnx")]
    tokens = ReaderTokens(Tokenizer.from_str(text), plan["max_tokens"])
    answered = [each for each in read_examples(data)[1] if each.spans][:COMPARED]
    alike = compared(*sessions, tokens, answered)
    print(" ".join(f"{name} {value:.3f}" for name, value in alike.items()))
    if alike["f1_int8"] < alike["f1"] - MAX_LOSS:
        raise SystemExit(f"int8 marks worse than float: {alike['f1_int8']:.3f}, {alike['f1']:.3f}")
    table = "\n".join(f"| {name} | {licence} |" for name, licence in DATA.items())
    first = f"a first round, whose model (sha256 {plan['start']}) it goes on from; then "
    card = CARD.read_text(encoding="utf-8").format(
        before=first if plan["start"] else "",
        data=table,
        examples=facts["examples_sha256"],
        **alike,
        tokens=SERVED_TOKENS,
        seen=plan["step"] * plan["size"],
        hours=plan["seconds"] / 3600,
        **{name: plan[name] for name in ("seed", "step", "size")},
    )
    (target / "MODEL_CARD.md").write_text(card, encoding="utf-8")


if __name__ == "__main__":
    main()
