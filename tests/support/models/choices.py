"""Choices of kernels for models as if they took other times."""

from dataclasses import replace

from graph.layouts.choice import channels_last
from graph.layouts.costs import Costs
from graph.layouts.rewrite import with_layouts
from search.flow import choices as flow


def choices_with(seconds):
    """The model's choices, as if they took these seconds."""

    def choices(backend, problems, progress):
        found = flow.choices(backend, problems, progress)
        return {problem: replace(choice, seconds=seconds(problem)) for problem, choice in found.items()}

    return choices


def laid_out(model, seconds):
    """The model in the layouts that take the least time if convolutions take these seconds."""
    return with_layouts(model, channels_last(model, Costs(seconds)))
