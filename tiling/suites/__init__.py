"""Lists of real layers, one text file a suite, one distinct layer a line. `tiling.text.suite` reads them."""
