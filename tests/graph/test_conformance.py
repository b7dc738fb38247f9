"""A sample of onnx's own tests, of operators, of files and of networks; `make soak` runs all that there are."""

import unittest
from pathlib import Path

import numpy as np
import pytest
from onnx.backend.test import BackendTest

import graph.onnx_backend as backend
from graph import conformance
from graph.conformance import PASSED, cases, checked, main, reason

# One or two of each kind of operator, and two networks. `make test` takes one of each tuple: a network takes ten
# seconds, so these are among the other models that come from files.
KINDS = (
    ("test_add_bcast", "test_div_int32_trunc", "test_where_example", "test_clip_example", "test_softplus", "test_elu"),
    ("test_reduce_mean_keepdims_random", "test_argmax_keepdims_random_select_last_index", "test_logsoftmax_axis_0"),
    ("test_layer_normalization_2d_axis1", "test_lrn", "test_instancenorm_example", "test_batchnorm_epsilon"),
    ("test_transpose_all_permutations_1", "test_concat_3d_axis_1", "test_slice_neg_steps", "test_reflect_pad"),
    ("test_gather_negative_indices", "test_gather_elements_1", "test_split_variable_parts_1d_opset18"),
    ("test_maxpool_2d_ceil", "test_averagepool_2d_pads_count_include_pad", "test_resize_upsample_scales_linear"),
    ("test_conv_with_strides_padding", "test_convtranspose_pads", "test_gemm_transposeB", "test_matmul_4d"),
    ("test_attention_4d", "test_group_normalization_example", "test_gelu_tanh_1"),
    (
        "test_single_relu_model",
        "test_sequence_model4",
        "test_Conv2d_dilated",
        "test_Linear",
        "test_operator_addmm",
        "test_squeezenet",
        "test_shufflenet",
    ),
    (
        "test_cast_FLOAT_to_FLOAT8E4M3FN",
        "test_quantizelinear_blocked_symmetric",
        "test_add_uint64",
        "test_bitcast_bool_to_uint8",
    ),
    ("test_qlinearmatmul_2D_uint8_float32", "test_qlinearconv", "test_matmulinteger", "test_convinteger_with_padding"),
    (
        "test_scatter_elements_with_negative_indices",
        "test_scatternd_max_with_element_indices",
        "test_top_k_same_values_2d",
    ),
    ("test_gathernd_example_int32_batch_dim1", "test_tensorscatter_circular", "test_compress_default_axis"),
    (
        "test_gridsample_bicubic",
        "test_gridsample_reflection_padding",
        "test_roialign_aligned_true",
        "test_col2im_pads",
    ),
    ("test_basic_deform_conv_with_padding", "test_maxpool_with_argmax_2d_precomputed_strides", "test_lppool_2d_pads"),
    (
        "test_maxunpool_export_with_output_shape",
        "test_resize_tf_crop_and_resize",
        "test_resize_downsample_sizes_cubic_antialias",
    ),
    (
        "test_dft",
        "test_stft_with_window",
        "test_adam_multiple",
        "test_batchnorm_example_training_mode",
        "test_einsum_batch_diagonal",
    ),
    (
        "test_identity_opt",
        "test_loop16_seq_none",
        "test_sequence_map_identity_2_sequences",
        "test_split_to_sequence_1",
    ),
)
SAMPLE = {name: kind for kind, names in enumerate(KINDS) for name in names}
# Those that onnx's own runner is to drive, in this file too: onnx makes its cases once in a process.
DRIVEN = ("test_add_bcast_cpu", "test_loop11_cpu", "test_reduce_mean_keepdims_random_cpu", "test_lstm_defaults_cpu")
SEQUENCES = ("test_sequence_insert_at_back_cpu", "test_optional_get_element_sequence_cpu", "test_identity_sequence_cpu")
REFUSED = "test_nonzero_example_cpu"


@pytest.fixture(scope="module", autouse=True)
def made_sooner():
    """onnx takes twelve seconds to make its cases: six for pooling in three dims, which none here asks for, and two to
    quote its own sources. Whatever did ask for them, later in this process too, would expect zeros, and fail.
    """
    from onnx.backend.test.case import base
    from onnx.reference.ops import op_pool_common as pooling

    pool = getattr(pooling, "pool", None)  # older versions have files of expected values

    def pooled(padded, x_shape, kernel, strides, out_shape, *rest, **options):
        if len(out_shape) == 3:
            return np.zeros([*x_shape[:2], *out_shape], padded.dtype)
        return pool(padded, x_shape, kernel, strides, out_shape, *rest, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pooling, "pool", pooled, raising=False)
        patch.setattr(base, "process_snippet", lambda operator, name, export: (name, ""), raising=False)
        yield


@pytest.fixture(scope="module")
def tests():
    return {case.name: case for case in cases()}


@pytest.mark.slow
@pytest.mark.exhaustive(name=SAMPLE.get)
@pytest.mark.parametrize("name", SAMPLE)
def test_an_operator_gives_what_onnx_expects(tests, name):
    if name not in tests:
        pytest.skip("this version of onnx has no such test")
    found = checked(tests[name])
    assert found.ended == PASSED, found.why


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # onnx makes its cases by dividing by 0
@pytest.mark.parametrize("name", [*DRIVEN, *SEQUENCES, REFUSED])
def test_the_runner_of_onnx_drives_it(name):
    cases = BackendTest(backend, __name__).test_cases
    (case,) = (each for each in cases.values() if hasattr(each, name))
    found = unittest.TestResult()
    case(name).run(found)
    assert found.testsRun == 1 and not found.failures and not found.errors
    assert bool(found.skipped) == (name == REFUSED)


@pytest.mark.slow
def test_a_journal_is_gone_on_with_and_a_page_counts_it(tmp_path, capsys):
    journal, written = tmp_path / "journal.jsonl", tmp_path / "page.md"
    arguments = [
        "test_nonzero_example",
        "test_image_decoder_decode_bmp_rgb",
        "--journal",
        str(journal),
        "--page",
        str(written),
    ]
    assert main(arguments) == 0
    first = journal.read_text(encoding="utf-8")
    assert main(arguments) == 0 and journal.read_text(encoding="utf-8") == first
    told = written.read_text(encoding="utf-8")
    assert "has 2 tests (2 node): 0 pass (0.0 %), 2 are refused and 0 differ" in told
    assert "2 tests: 0 passed, 2 refused, 0 wrong" in capsys.readouterr().out


def test_reasons_are_the_same_for_nodes_of_any_name():
    assert reason("node conv7 (Conv): x has 3 channels") == reason("node a (Conv): x has 3 channels")
    assert reason("input a is a sequence: no") == reason("input b is a sequence: no")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["no_such_test"], 2, "has no_such_test in its name"),
        (["test_nonzero_example", "--page", "{folder}"], 1, "{folder} cannot be written: Is a directory"),
        (
            ["test_nonzero_example", "--page", "{folder}/none/page.md"],
            1,
            "page.md cannot be written: No such file or directory",
        ),
        (["test_nonzero_example", "--journal", "{folder}"], 1, "{folder} cannot be written: Is a directory"),
        (["test_nonzero_example", "--journal", "{folder}/text"], 1, "text is no journal of outcomes"),
    ],
)
def test_what_cannot_be_run_or_written_is_one_sentence(words, code, said, tmp_path, capsys):
    (tmp_path / "text").write_text("{}\n")
    assert main([word.format(folder=tmp_path) for word in words]) == code
    printed = capsys.readouterr()
    assert said.format(folder=tmp_path) in printed.err and printed.err.count("\n") == 1 and not printed.out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("error", "options", "code", "told"),
    [
        (KeyboardInterrupt(), [], 130, "interrupted, and nothing is kept without --journal\n"),
        (KeyboardInterrupt(), ["--journal", "kept"], 130, "interrupted: kept has what was run\n"),
        (OSError("no \x1b process"), [], 1, "the tests cannot go on: no \\x1b process\n"),
    ],
)
def test_each_end_has_its_code_and_its_sentence(error, options, code, told, tmp_path, monkeypatch, capsys):
    def outcomes(tests):
        raise error

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(conformance, "outcomes", outcomes)
    assert main(["test_nonzero_example", *options]) == code
    assert capsys.readouterr().err.endswith(told)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_page_that_cannot_be_written_leaves_the_report(capsys):
    assert main(["test_nonzero_example", "--page", "/dev/full"]) == 1
    printed = capsys.readouterr()
    assert printed.err == "/dev/full cannot be written: No space left on device\n"
    assert printed.out.startswith("1 test: 0 passed, 1 refused, 0 wrong\n")


@pytest.mark.slow
def test_the_report_has_a_heading_where_something_stands_below_it(capsys):
    assert main(["test_relu"]) == 0
    assert capsys.readouterr().out == "2 tests: 2 passed, 0 refused, 0 wrong\n"
    assert main(["test_nonzero_example"]) == 0
    told = capsys.readouterr().out
    assert "\n\nRefused:\n    1  " in told and "Wrong:" not in told and "Of those that passed" not in told


def test_every_zeroth_test_is_refused(capsys):
    with pytest.raises(SystemExit):
        main(["--every", "0"])
    assert "'0' is not a whole number of at least 1" in capsys.readouterr().err
