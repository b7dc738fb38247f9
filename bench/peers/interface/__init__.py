"""What all libraries share. Read in this order:

peer         the interface, and what a prepared layer is
convolution  a `Problem` in the words of libraries: strides, padding on four sides, groups
pointwise    the epilogues that libraries fuse
versions     versions of packages, without importing them
"""
