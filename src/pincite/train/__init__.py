"""Training of models; needs the extra ``train`` (torch, onnx), nothing else in Pincite does."""
