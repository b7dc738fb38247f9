"""Reads ONNX files: `read`."""
