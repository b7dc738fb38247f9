"""The command `python -m bench.gpu_model`: see `bench.studies.accuracy.gpu_model`."""

from tilewright_entry import run

if __name__ == "__main__":
    run("bench.studies.accuracy.gpu_model:main")
