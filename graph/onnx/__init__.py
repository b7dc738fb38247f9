"""Reads ONNX files.

In reading order: `load`, a file · `read`, its nodes · `inputs` · `reading`, what is known so far · `standard`, by
onnx itself · `rewrites` · `steps` · `control` · `graphs` inside nodes · `iterations` of loops · `sequences` ·
`recurrent`.
"""
