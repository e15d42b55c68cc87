"""Pure computations that the tutorials time: no clock, no printing, no state."""
