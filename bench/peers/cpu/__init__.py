"""Libraries on a CPU. Read in this order:

onednn onednn_nchw openvino ort numpy    one library each
onednn_int8                              oneDNN's products of u8 and s8
torch_cpu verbose                        PyTorch set up for float32; the times that oneDNN reports
"""
