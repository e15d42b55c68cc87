"""The computations that the tutorials time: pure functions without clock, output or state."""
