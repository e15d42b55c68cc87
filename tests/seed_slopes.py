"""What the seed document on gradients shows."""

from jaxcap.published import load_wave

# The slopes at 20 points from 0 to 4 pi that the seed document shows.
SEED_SLOPES = load_wave()["slope"]
# Libraries may round a point differently, by 9.5e-7, and the slope changes up to five times as fast.
SEED_TOLERANCE = 1e-5
