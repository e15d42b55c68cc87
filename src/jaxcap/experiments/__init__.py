"""The comparisons that the tutorials make, importable so that fresh processes can repeat them."""
