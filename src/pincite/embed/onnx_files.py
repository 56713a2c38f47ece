"""Opening what onnxruntime and tokenizers run, alike for encoders and cross-encoders.

``broken`` makes the error that names the model, from the reason.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pincite.core.errors import ModelError

Broken = Callable[[object], ModelError]
INPUTS = {"input_ids", "attention_mask", "token_type_ids"}


def open_tokenizer(text: str, broken: Broken) -> Any:
    """Return a tokeniser that cuts and pads nothing."""
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_str(text)
    except Exception as error:  # a plain Exception is what the library raises
        raise broken(error) from error
    # Exporters leave these switched on; texts would be cut before windows are made of them.
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def open_session(source: bytes | str, broken: Broken) -> Any:
    """Return a session of one thread: callers spread texts over threads themselves."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4  # its warnings repeat names that the model chose
    try:
        return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's own errors have no common base
        raise broken(error) from error


def inputs_of(session: Any, broken: Broken) -> list[str]:
    """Return which inputs the graph wants; an error if they are not those of a text model."""
    names = [each.name for each in session.get_inputs()]
    if unknown := set(names) - INPUTS:
        raise broken(f"it wants {', '.join(sorted(unknown))}")
    return names
