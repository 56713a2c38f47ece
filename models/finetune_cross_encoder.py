"""A cross-encoder that knows your own documents, from the shipped one and judged questions.

    python models/finetune_cross_encoder.py questions.jsonl -i INDEX --out FOLDER

needs: torch and onnx (dependency group `models`).
"""

from __future__ import annotations

from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import click

from pincite.cli.options import PATH, Call, argument, command, option
from pincite.cli.terminal import Bar, print_json, say
from pincite.model.errors import ConfigError


@command("finetune")
@argument("questions", type=PATH, help="Judged questions, as for pincite eval.")
@option("--out", "folder", type=PATH, required=True, help="Folder of the model that is written.")
@option("--steps", type=click.IntRange(1), default=300, help="How long to train.")
def finetune(call: Call, questions: Path, folder: Path, steps: int) -> None:
    """Go on training the shipped cross-encoder with judged questions; resumes if interrupted."""
    from tokenizers import Tokenizer

    from pincite.api import Index
    from pincite.measure.questions import load
    from pincite.search.cross_encoder import open_cross_encoder
    from training.export import save, with_calibration
    from training.from_judgements import groups_of
    from training.loop import Plan, Training, calibrated
    from training.weights import weights_of

    with Index.open(call.index, call.settings) as opened:
        groups = list(groups_of(opened, load(questions)))
    if len(groups) < 20:
        raise ConfigError(
            f"{questions} gives {len(groups)} answers to learn from",
            hint="judge at least twenty questions that the index can answer",
        )
    text = files("pincite.encode").joinpath("minilm", "tokenizer.json").read_text("utf-8")
    base = files("pincite.search").joinpath("minilm", "model.onnx").read_bytes()
    plan = replace(Plan(), steps=steps, warm_up=max(1, steps // 10))
    training = Training(weights_of(base), groups, Tokenizer.from_str(text), plan)
    training.resume(folder)
    with Bar("training", steps) as bar:
        for step in training.run(folder):
            bar.update(step.step, note=f"loss {step.loss:.2f}")
    save(training.network.arrays(), text, folder, {"max_tokens": 512})
    made = open_cross_encoder(str(folder))
    found = calibrated(training.held_out, made.logits)
    with_calibration(folder, found)
    error = round(found.error, 3)
    facts = {"folder": str(folder), "groups": len(groups), "calibration_error": error}
    if call.as_json:
        print_json(facts)
        return
    say(f"{folder}: trained on {len(groups)} answers")
    say(
        f"use it with --set rerank.enabled=true --set rerank.model={folder}; "
        "whether it is better, pincite eval tells"
    )


if __name__ == "__main__":
    finetune()
