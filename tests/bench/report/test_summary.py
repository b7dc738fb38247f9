"""Sections, figures and sentences of a run, on made-up results."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

from bench.report.markdown import readme_table
from bench.report.sections import sections
from bench.report.summary import facts, geometric_mean, incomplete, summary, totals
from bench.report.written import show, table
from tests.support.search.made_up_results import CONDITIONS, GFLOP, MISSING, ONE, RESULTS, TWO, WHY, layer


def test_sections_are_by_threads_and_suite_and_the_papers_networks_are_one():
    results = [layer("Y", 50, {}, "yolo9000"), layer("M", 50, {}, "mobilenet"), layer("R", 50, {}, "resnet18")]
    found = sections([*results, layer("R", 50, {}, "resnet18", 2), layer("R", 50, {}, "resnet18", cache="cold")])
    assert [(s.title, s.name, len(s.results)) for s in found] == [
        ("The layers of TTile's paper, on 1 thread", "ttile-1t", 2),
        ("mobilenet, on 1 thread", "mobilenet-1t", 1),
        ("resnet18, on 2 threads", "resnet18-2t", 1),
        ("resnet18, on 1 thread, cold caches", "resnet18-1t-cold-caches", 1),
    ]
    channels_first = replace(results[1], shape=results[1].shape + ",layout=nchw")
    assert [s.title for s in sections([results[1], channels_first])] == [
        "mobilenet, on 1 thread",
        "mobilenet, on 1 thread, NCHW",
    ]
    transformed = [replace(results[1], algorithm=name) for name in ("direct", "winograd", "auto")]
    assert [(s.title, s.name) for s in sections(transformed)] == [
        ("mobilenet, on 1 thread", "mobilenet-1t"),
        ("mobilenet, on 1 thread, winograd", "mobilenet-1t-winograd"),
        ("mobilenet, on 1 thread, winograd where faster", "mobilenet-1t-winograd-where-faster"),
    ]
    passing = [dict(facts(CONDITIONS, [r]))["FLOPs"].endswith("needs fewer and may pass it.") for r in transformed]
    assert passing == [False, True, True]


def test_a_section_names_all_peers_and_its_layers_as_short_as_they_can_be_told_apart():
    assert ONE.peers == ("fast", "slow|er")
    assert ONE.labels == ("A<&>", "B", "C")
    (both,) = sections([layer("1", 50, {}, "yolo9000"), layer("1", 50, {}, "resnet18")])
    assert both.labels == ("yolo9000:1", "resnet18:1")


def test_geometric_mean():
    assert geometric_mean([7.0]) == pytest.approx(7)
    assert geometric_mean([1, 10, 100]) == pytest.approx(10)


def test_summary_has_every_figure_and_names_the_layers_where_a_peer_is_faster():
    mean, fast, slow, slowest, alone, network, longest, skipped = summary(ONE)
    assert mean == "Geometric mean over 3 layers: 40.0 % of peak called from Python, 41.2 % the kernel alone."
    assert "fast takes 1.00 times as long as ours in the geometric mean over 2 layers" in fast
    assert fast.endswith("it is faster on 1: net:B (0.50).")
    assert slow.startswith("slow|er takes 4.00 times") and slow.endswith("over 1 layer; it is faster on none.")
    assert slowest == "Slowest layer: net:B with 20.0 %."
    assert "reaches 20.0 % of peak, 50.0 % of what tuning reaches" in alone
    assert network == (
        "net, 3 layers, each as often as the network has it: ours 125 ms; fast 125 ms (1.25 times ours, without the 1 "
        "that it skipped); slow|er 200 ms (4.00 times ours, without the 2 that it skipped)."
    )
    assert longest == "Longest search of a layer: 31 s; until everything was checked and timed, 33 s at most."
    assert skipped == f"slow|er skipped net:B: {WHY}."


def test_summary_without_peers_and_without_the_models_choice():
    bare = layer("A", 50, {})
    (section,) = sections([replace(bare, contenders=bare.contenders[:1])])
    text = " ".join(summary(section))
    assert "times as long" not in text and "model" not in text and "each once: ours 20.0 ms." in text


def test_it_is_said_why_a_layer_may_pass_the_peak(capsys):
    why = "Taps on padding count as operations, but our kernels leave them out: a layer that has some may pass 100 %."
    bare, on_gpu = (layer("A", 50, {}, **other) for other in ({"flops_on_image": GFLOP}, {"target": "cuda"}))
    for results, said in (([bare, layer("B", 110, {})], True), ([bare], False), ([on_gpu], False)):
        show(sections(results), ())
        assert (why in capsys.readouterr().out) == (why in readme_table(sections(results), CONDITIONS)) == said


def test_totals_compare_a_peer_on_the_layers_that_it_ran():
    ours, fast, slow = totals(ONE)
    assert (ours.layers, ours.seconds) == (3, pytest.approx(4 / 80 + 1 / 20 + 1 / 40))
    assert (fast.layers, fast.seconds) == (2, pytest.approx(5 / 40))
    assert (fast.ours, slow.layers) == (pytest.approx(4 / 80 + 1 / 20), 1)


def test_incomplete_gathers_the_layers_by_reason():
    line = "Incomplete: without net:D on 1 thread (failed: it crashed); without net:E, net:F (late)."
    assert incomplete(MISSING) == line


def test_facts_state_what_ran_what_did_not_and_how_to_get_it():
    said = dict(facts(CONDITIONS, RESULTS))
    assert said["fast"] == "Fast & <Furious>; 1.0."
    assert said["ort"] == "Did not run: onnxruntime is not installed: pip install 'tilewright[peers]'."
    assert "FMA peak of one core 100 GFLOP/s; memory read by one core 10 GB/s" in said["Measured in the run"]
    assert {"Machine", "Versions", "Caches", "Threads", "Memory", "Turns", "Search", "Times", "Check"} <= set(said)


def test_the_terminal_table_has_a_row_a_layer():
    console = Console(width=80, file=StringIO())
    console.print(table(TWO))
    text = console.file.getvalue()
    assert "on 2 threads" in text
    found = [line.split() for line in text.splitlines() if line.split()[:1] and line.split()[0] in TWO.labels]
    assert found[0] == ["A<&>", "80.0", "81.0", "40.0", "125", "40.0", "2.00×", "20.0", "4.00×"]
    assert found[1][-1] == "–" and found[2][-2:] == ["–", "–"]
