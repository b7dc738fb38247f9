"""The model's accuracy, on made-up predictions and measurements."""

from __future__ import annotations

import pytest

import bench.studies.accuracy.model as model
from bench.studies.accuracy.model import ModelAccuracy
from bench.studies.accuracy.traffic import Moved
from tiling.text.suite import Layer


def model_accuracy(predicted, measured, failed=0):
    return ModelAccuracy("made_up:A", "c=4,h=6", ("s",) * len(predicted), tuple(predicted), tuple(measured), failed)


def model_page(results):
    return model.page(results, "python -m bench.model", "box-1", threads=1, schemes=7, seed=5)


@pytest.mark.parametrize(
    "predicted, measured, correlation, loss",
    [
        ((1, 2, 3), (10, 20, 30), 1, 0),
        ((1, 2, 3), (30, 20, 10), -1, 2),
        ((2, 1, 3), (10, 15, 30), 0.5, 0.5),
        ((1, 2, 4, 8), (1, 5, 6, 1000), 1, 0),
    ],
)
def test_model_accuracy_compares_ranks_and_the_favourite(predicted, measured, correlation, loss):
    accuracy = model_accuracy(predicted, measured)
    assert accuracy.correlation == pytest.approx(correlation)
    assert accuracy.top1_loss == pytest.approx(loss)


def test_model_accuracy_has_no_figure_without_measurements_to_compare():
    assert model_accuracy((), ()).correlation is None and model_accuracy((), ()).top1_loss is None
    assert model_accuracy((1,), (2,)).correlation is None and model_accuracy((1,), (2,)).top1_loss == 0
    assert model_accuracy((1, 1), (2, 3)).correlation is None


def test_model_page_states_its_conditions_and_the_mean():
    text = model_page([model_accuracy((1, 2, 3), (1e-3, 2e-3, 3e-3)), model_accuracy((1, 2, 3), (3, 2, 1), failed=4)])
    assert "At most 7 random" in text and "seed 5" in text and "on 1 thread;" in text
    assert "Mean rank correlation over 2 layers: 0.00." in text
    assert "| made_up:A | c=4 h=6 | 3 | 0 | 1.00 | 0 % | – | 1 | 3 |" in text
    assert "| 3 | 4 | -1.00 | 200 % | – |" in text


def test_model_page_has_dashes_for_a_layer_where_all_failed():
    text = model_page([model_accuracy((), (), failed=7), model_accuracy((1, 2), (3, 4))])
    assert "| made_up:A | c=4 h=6 | 0 | 7 | – | – | – | – | – |" in text
    assert "over 1 layer: 1.00." in text
    assert "over 0 layers: –." in model_page([model_accuracy((), (), failed=7)])


def test_traffic_error_is_the_median_either_way():
    def moved(level, predicted):
        return Moved(level, predicted, 100, False, 100)

    accuracy = ModelAccuracy(
        "made_up:A", "c=4", (), (), (), 0, tuple((moved("L1", p), moved("L2", 100)) for p in (50, 110, 130))
    )
    assert accuracy.traffic_errors == pytest.approx({"L1": 0.3, "L2": 0})
    assert accuracy.shown_traffic == "L1 30 %, L2 0 %"
    assert model_accuracy((), ()).shown_traffic == "–"


def test_a_layer_that_cannot_be_computed_is_left_out_with_the_reason(monkeypatch, capsys):
    monkeypatch.setattr("tiling.text.shapes.suite", lambda name: [Layer("D1", "groups=2", 3, None, "no groups yet")])
    monkeypatch.setattr(model, "machine_catalog", lambda *_, **__: None)
    assert model.main(["--suite", "made_up"]) == 0
    assert capsys.readouterr().err == "made_up:D1 is left out: no groups yet\n"
