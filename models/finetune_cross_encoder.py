"""A cross-encoder that knows your own documents, from the shipped one and judged questions.

    python models/finetune_cross_encoder.py questions.jsonl -i INDEX --out FOLDER

needs: torch and onnx (dependency group `models`).
"""

from __future__ import annotations

from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress

from pincite.cli.options import (
    DEFAULT_INDEX,
    ConfigOption,
    IndexOption,
    JsonOption,
    SetOption,
    err,
    out,
    settings_from,
    told,
)
from pincite.cli.terminal import print_json
from pincite.model.errors import ConfigError


def finetune(
    questions: Annotated[Path, typer.Argument(help="Judged questions, as for pincite eval.")],
    folder: Annotated[Path, typer.Option("--out", help="Folder of the model that is written.")],
    steps: Annotated[int, typer.Option("--steps", min=1, help="How long to train.")] = 300,
    index: IndexOption = DEFAULT_INDEX,
    config: ConfigOption = None,
    sets: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Go on training the shipped cross-encoder with judged questions; resumes if interrupted."""
    with told(as_json=as_json, index=index):
        from tokenizers import Tokenizer

        from pincite.api import Index
        from pincite.measure.questions import load
        from pincite.search.cross_encoder import open_cross_encoder
        from training.export import save, with_calibration
        from training.from_judgements import groups_of
        from training.loop import Plan, Training, calibrated
        from training.weights import weights_of

        with Index.open(index, settings_from(config, sets)) as opened:
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
        with Progress(console=err, transient=True, disable=not err.is_terminal) as bar:
            task = bar.add_task("training", total=steps)
            for step in training.run(folder):
                bar.update(task, completed=step.step, description=f"loss {step.loss:.2f}")
        save(training.network.arrays(), text, folder, {"max_tokens": 512})
        made = open_cross_encoder(str(folder))
        found = calibrated(training.held_out, made.logits)
        with_calibration(folder, found)
    error = round(found.error, 3)
    facts = {"folder": str(folder), "groups": len(groups), "calibration_error": error}
    if as_json:
        print_json(facts)
        return
    out.print(f"{folder}: trained on {len(groups)} answers", markup=False, soft_wrap=True)
    out.print(
        f"use it with --set rerank.enabled=true --set rerank.model={folder}; "
        "whether it is better, pincite eval tells",
        markup=False,
        soft_wrap=True,
    )


if __name__ == "__main__":
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(finetune)
    app()
