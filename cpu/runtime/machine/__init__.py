"""What this CPU is, and how fast it is.

Read in this order:

    host        vendor, ISA flags, caches, a fingerprint
    timer       seconds per call, peak FMA rate and bandwidths, timed in C
    samples     many calls between two measurements of the peak
    probe       measures one core of this machine: peak and bandwidths
    neighbours  repeats a measurement when other programs used its cores
"""
