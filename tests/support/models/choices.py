"""Choices of kernels for models as if they took other times."""

from dataclasses import replace

from search.flow import ahead


def choices_with(seconds):
    """The model's choices, as if they took these seconds."""

    def choices(backend, problems, progress):
        found = ahead.choices(backend, problems, progress)
        return {problem: replace(choice, seconds=seconds(problem)) for problem, choice in found.items()}

    return choices
