"""What the commands of bench refuse before anything runs."""

from __future__ import annotations

import pytest

import bench.command as command
import bench.studies.accuracy.model as model
import bench.studies.searches.disturbed as disturbed
import bench.studies.searches.latency as latency


@pytest.fixture
def no_work(monkeypatch):
    """Fails the test where anything of a machine is asked for."""

    def reached(*_, **__):
        raise AssertionError("the run had begun")

    for module in (command, disturbed, model):
        monkeypatch.setattr(module, "cpu_backend", reached)
        monkeypatch.setattr(module, "machine_catalog", reached)
    monkeypatch.setattr(latency, "waits", reached)


def test_cold_caches_are_for_one_thread(no_work, capsys):
    assert command.main(["--cache", "cold", "--threads", "2", "--peers", "none"]) == 2
    assert "--cache cold is for --threads 1" in capsys.readouterr().err


@pytest.mark.parametrize(
    "main, arguments",
    [
        (command.main, ["--budget", "0"]),
        (command.main, ["--budget", "nan"]),
        (command.main, ["--budget", "-3"]),
        (command.main, ["--threads", "0"]),
        (command.main, ["--threads", "two"]),
        (disturbed.main, ["--share", "nan"]),
        (disturbed.main, ["--share", "1"]),
        (disturbed.main, ["--share", "half"]),
        (model.main, ["--schemes", "1"]),
        (model.main, ["--schemes", "-5"]),
        (model.main, ["--seed", "-1"]),
    ],
)
def test_bad_options_exit_2_with_a_sentence(no_work, capsys, main, arguments):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert f"argument {arguments[0]}: '{arguments[1]}' is not a" in said and "Traceback" not in said


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--epilogue", "relu(y + b"], "epilogue 'relu(y + b': the end stands where ')' is expected"),
        (["--dtype", ""], "dtype '' is not covered by --target cpu: f32, bf16, int8"),
        (["--epilogue", "relu(y)", "--dtype", "int8"], "--epilogue is not covered with --dtype int8"),
    ],
)
def test_an_epilogue_or_a_dtype_that_cannot_be_exits_2_with_a_sentence(no_work, capsys, arguments, message):
    assert command.main(arguments) == 2
    said = capsys.readouterr().err
    assert said.startswith(message) and said.count("\n") == 1


@pytest.mark.parametrize("main", [command.main, model.main])
def test_an_unknown_suite_exits_2_with_a_sentence(no_work, capsys, main):
    assert main(["--suite", "resnet81"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("there is no suite 'resnet81'") and said.count("\n") == 1


def test_a_peer_of_a_gpu_is_not_compared_with_kernels_of_the_cpu(no_work, capsys):
    assert command.main(["--peers", "ort", "cublas"]) == 2
    assert capsys.readouterr().err == (
        "cublas computes on a GPU: beside kernels of the CPU it would compare two machines\n"
    )


def test_an_unknown_peer_exits_2_with_a_sentence(no_work, capsys):
    assert command.main(["--peers", "onednnn"]) == 2
    said = capsys.readouterr().err
    assert (
        said.startswith("there is no peer 'onednnn' (did you mean onednn or onednn-nchw?); there are")
        and said.count("\n") == 1
    )


@pytest.mark.parametrize(
    "main, option",
    [
        *((command.main, option) for option in ("--report", "--json", "--readme")),
        *((m.main, "--report") for m in (model, latency)),
    ],
)
def test_an_unwritable_file_is_found_before_anything_runs(no_work, tmp_path, capsys, main, option):
    (tmp_path / "a_file").write_text("", encoding="utf-8")
    assert main([option, str(tmp_path / "a_file" / "page.md")]) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"cannot write {tmp_path}") and said.count("\n") == 1


def test_an_unwritable_file_is_found_before_other_libraries_are_imported(no_work, tmp_path, monkeypatch):
    monkeypatch.setattr(command, "available", lambda *_: pytest.fail("other libraries were looked for"))
    (tmp_path / "a_file").write_text("", encoding="utf-8")
    assert command.main(["--report", str(tmp_path / "a_file" / "page")]) == 1


def test_a_readme_without_markers_is_found_before_anything_runs(no_work, tmp_path, capsys):
    (tmp_path / "README.md").write_text("# Mine\n", encoding="utf-8")
    assert command.main(["--readme", str(tmp_path / "README.md")]) == 1
    assert "needs a line <!-- bench:begin -->" in capsys.readouterr().err
