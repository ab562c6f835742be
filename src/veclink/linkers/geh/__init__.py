"""GEH, the paper's linker; here, every number that decides what it finds, and what it was chosen on."""

from __future__ import annotations

from typing import Final

# --- The paper's settings -----------------------------------------------------------------------------------------

# Growth c and share ρ0 of the schedule, neighbours k of csls, iterations at most: the paper's.
GROWTH: Final = 0.3
SHARE: Final = 0.4
NEIGHBOURS: Final = 50
MAX_ITERATIONS: Final = 100

# The paper's stopping rule: after the burn-in, the points of both sides in proposed pairs, as a share of the larger
# cloud, moved by less than this in each of so many last iterations.
STEADY: Final = (0.01, 10)
BURN_IN: Final = 10

# Rows behind the width of the kernel. Origin not recorded.
WIDTH_SAMPLE: Final = 500

# --- The local path -----------------------------------------------------------------------------------------------

# Rows of the larger cloud above which the local path is taken: the paper's.
LOCAL_ABOVE: Final = 500_000

# Neighbours of each anchor that a view looks at, and links for each cluster (a view holds about twice as many): chosen
# on nfcorpus and scifact, minilm–mpnet, α = 0.3, 15 seeds, states 0 and 1 (geh_local.json of bench/results).
LOCAL_NEIGHBOURS: Final = 100
LINKS_PER_CLUSTER: Final = 128

# Clusters that each link stands in: the paper's.
CLUSTERS_PER_LINK: Final = 2

# Steps of k-means, and links that it is fitted to at most. Origin not recorded.
KMEANS_STEPS: Final = 10
KMEANS_LINKS: Final = 65_536

# --- The verdict --------------------------------------------------------------------------------------------------

# Mean vote shares seen on real pairs: 0.62 to 0.89 where GEH linked, 0.24 to 0.45 where 4 of 5 links were wrong.
AGREED: Final = 0.6
DISPUTED: Final = 0.5
