"""Lists of real layers, one text file a suite, one layer a line: `NAME key=value …`. `tiling.shapes` reads them."""
