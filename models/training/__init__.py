"""Training of models; needs torch and onnx (dependency group ``models``)."""
