"""`python -m bench.gpu_model`: the model of GPUs beside the times of an H200's schedules."""

import pytest

from bench.report.summary import geometric_mean
from bench.studies.accuracy import gpu_model
from bench.studies.accuracy.gpu_model import TABLE, loss, main, read, scored, table

# A layer of each kind: products of aligned, odd and few rows, convolutions whose pixels come by boxes or are gathered,
# of one image and of several.
SAMPLE = (
    *("sq-bf16:S512", "sq-bf16:S1024", "sq-bf16:S2042", "r50-b64:C1", "r50-b64:P11", "r50-b1:P6", "r50-b16:C2"),
    "bert_base:FFN1",
)


@pytest.fixture(scope="module")
def sample():
    return [scored(times, "H200") for times in read(TABLE) if times.layer in SAMPLE]


def test_the_first_choice_is_nearly_the_fastest(sample):
    """All 76 layers: 1.027 in the geometric mean."""
    assert [each.layer for each in sample] == sorted(SAMPLE, key=[each.layer for each in sample].index)
    assert geometric_mean(list(map(loss, sample))) < 1.05 and max(map(loss, sample)) < 1.16


def test_times_are_predicted_within_a_fifth(sample):
    off = [abs(error) for result in sample for error in gpu_model.errors([result])]
    assert sum(error < 0.18 for error in off) > 0.8 * len(off)


@pytest.mark.slow
def test_the_table_has_the_figures_of_layers_and_of_the_whole(sample):
    text = table(sample)
    assert text.splitlines()[1].split()[:2] == ["sq-bf16:S512", "20"]
    assert f"{geometric_mean(list(map(loss, sample))):.3f} in the geometric mean of 8 layers" in text


@pytest.mark.parametrize(
    "content, said",
    [
        ("", "is no table of times"),
        ("layer,op,shape,scheme,microseconds\nA,matmul\n", "is no table of times"),
        ("layer,op,shape,scheme,microseconds\nA,matmul,m=64,S(c),3\n", "the shape lacks n, k"),
        ("layer,op,shape,scheme,microseconds\n,,,S(c),3\n", "the first line of times names no layer"),
        ('layer,op,shape,scheme,microseconds\nA,matmul,"m=64,n=64,k=64,dtype=f16",S(c),0\n', "not above 0"),
        ('layer,op,shape,scheme,microseconds\nA,matmul,"m=64,n=64,k=64,dtype=f16",S(c),x\n', "could not convert"),
    ],
)
def test_a_wrong_table_is_one_sentence(content, said, tmp_path, capsys):
    path = tmp_path / "times.csv"
    path.write_text(content)
    assert main(["--table", str(path)]) == 1
    error = capsys.readouterr().err
    assert said in error and str(path) in error and error.count("\n") == 1


def test_a_device_without_wgmma_is_one_sentence(capsys):
    assert main(["--device", "A100"]) == 1
    error = capsys.readouterr().err
    assert "A100 has no wgmma" in error and error.count("\n") == 1
