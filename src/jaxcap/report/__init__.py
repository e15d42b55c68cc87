"""What pages show of results: claims, figures, rooflines, and the source of functions."""
