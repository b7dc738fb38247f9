"""Reports results as tables, pages, pictures and data.

Read in this order:

    results   the results of a run, as records
    words     the words for the peak and the times of each target
    sections  results that belong together, with their title
    summary   the figures of a section and the conditions of a run, as sentences
    files     files of results: checked before a run, written after it
    formats   JSON lines and CSV
    markdown  the page of a report, and the table in the README
    svg       a figure as SVG
    curves    the speed that a search reaches over time
    plots     bars, roofline, and the model's predictions beside the measurements
    html      one page that needs no other file
    written   a table for the terminal, and a folder with all reports
    render    writes the reports again from JSON lines
"""
