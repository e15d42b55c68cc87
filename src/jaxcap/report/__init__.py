"""What is said about results: claims, figures, rooflines."""
