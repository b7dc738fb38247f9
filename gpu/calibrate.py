"""The command `python -m gpu.calibrate`: see `gpu.probes.calibrate`."""

from tilewright_entry import run

if __name__ == "__main__":
    run("gpu.probes.calibrate:main")
