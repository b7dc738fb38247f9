"""Probes: small kernels that tell whether a device does what the twin does.

Read in this order:

    probe       a probe: one call of the device layer as a small kernel
    tma_probes  probes of Hopper's TMA copies, mbarriers and clusters
    calibrate   runs all probes on the device and on the twin, and compares
"""
