"""What pages show: claims, figures, rooflines, the source of functions, and reports of checkers."""
