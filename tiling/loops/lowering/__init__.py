"""From a scheme to loops: as a nest that is priced, and as plain loops that passes refine.

Read in this order:

    nest      a scheme as a nest, one node a loop
    show      a scheme as indented pseudo-code
    prefetch  what register tiles prefetch
    lower     a scheme as plain loops of the language
"""
