"""What the seed document on gradients shows."""

# The slopes at 20 points from 0 to 4 pi that the seed document shows.
SEED_SLOPES = [
    *(1.2, -0.9496601, -0.50640905, 1.2697529, 0.9948586, -1.435761, -2.4704502, -0.2117664),
    *(2.578496, 2.3742416, -0.08260958, -1.0845982, 0.44661242, 1.5158873, -0.1369658),
    *(-2.3538072, -1.6731402, 1.3973863, 2.9279408, 1.1999986),
]
# Libraries may round a point differently, by 9.5e-7, and the slope changes up to five times as fast.
SEED_TOLERANCE = 1e-5
