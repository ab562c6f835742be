"""Constants of the annealed search: beginnings, how they are sifted and carried on, how alignments teach themselves.

Each stands under what it was chosen on. Those of growing, of other starts and of the verdict are in `constants`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from veclink.linkers.span.annealing import Schedule

# Pairs of rows, one of each cloud, that a search looks at: all of 500 × 4,400, or 1,483 of both. Chosen for its time.
SEARCHED_PAIRS: Final = 2_200_000

# Beginnings (at least, at most), one for so many pairs of rows, the groups of either side that they are tried on, how
# often the groups are drawn anew, and the steps of that. Of 1,000 turns on reddit with e5 (α = .3, four splits), 5, 7,
# 12 and 15 end right on 200 groups, 2 and 14 on 100, 10 and 14 on 400, which take four times as long; on all rows none
# to four. Groups of equal mass lead nowhere (3 of 4,000), nor do those that are alike in 16 directions alone (9). That
# small clouds have fewer beginnings bounds their time.
BEGINNINGS: Final = (64, 1536, 600)
GROUPS: Final = 200
GROUPINGS: Final = (4, 10)

# Share of them, the best by their sum, of which it is asked how they fit directions that they did not look at (of all
# PRINCIPAL_DIRECTIONS); how many are then sifted on groups, how many of those carried on, on rows or (see LAST_GROUPS)
# on groups, and how many of those taught. Of 2,048 turns the nearest to the right one is by its sum in place 1 to 331,
# among the best 500 by how it fits the rest in place 2 to 10, and a second one in 0 to 16 (reddit and stackexchange,
# mpnet–e5 at α = .3, minilm–e5 at .15); after sifting the rest still tells more than the sum. The sum of those carried
# on was 24.4 to 25.5 where nothing was right, 25.4 to 26.1 with 96 to 220 of 613 right, which teaching made 515 and
# more.
LOOKED_AT: Final = 0.25
SIFTED_OF_ROWS: Final = 64
CARRIED_ON: Final = 8
CARRIED_THROUGH: Final = 3

# Groups that turns are sifted on, and where there are many rows, the share of them, the best by their sum, that is; and
# the round at which the others are let go is HALFWAY. Right ones are among the first 64 of 1,000 or far behind (reddit
# with e5, α = .15: places 3 to 238 of 2,048), and afterwards in places 0 to 13.
SIFTED_GROUPS: Final = 400
SIFTED_SHARE: Final = 0.125

# Rows of a cloud that a search draws its groups from at most; rows of the smaller cloud from which the last rounds run
# on groups too; how many groups; and how many beginnings are tried there. Two halves of 24,000 titles
# that share no row (minilm–e5): from 1,483 rows of both no title comes near its partner, from so many groups of 12,000
# rows 33 to 40 % are nearest to theirs, of 8,000 rows 37 %, of 4,096 none; from 600 groups 32 %, from 3,000 47 % in
# twice the time. With 2,048 beginnings 3 of 3 splits end so, with 1,024 and 8 carried on 3 of 3, with 512 and 4 2 of 3.
SEARCHED_ROWS: Final = 32_768
MANY_ROWS: Final = 6_000
LAST_GROUPS: Final = 1_500
BEGINNINGS_OF_MANY: Final = 1024

# Rounds, directions (from, to) and sharpness β (from, to) of the three. With 15 rounds instead of 30 a third fewer
# of the tried end right, with 60 a third more, at twice the cost; sifting to 32 or 40 directions tells less than to 24,
# and as much in 40 rounds as in 60. Slow is what matters in the end: 120 rounds from 6 to 60 directions end right in 3
# of 8 where 60 rounds from 16 to 60 do in 1 (reddit minilm–mpnet, α = .15).
TRIED: Final = Schedule(30, (4, 16), (1.0, 2.0))
SIFTED: Final = Schedule(40, (6, 24), (1.0, 2.5))
CARRIED: Final = Schedule(120, (6, 60), (1.0, 4.0))
HALFWAY: Final = CARRIED.rounds // 2

# Leading principal directions that a random turn is of, and how far it mixes neighbouring ones: 44, 39 and 22 of 4,000
# end right with 0.3, 0.5 and 1 (between the first two by choice), 25 with four directions, 33 with eight (reddit with
# e5, α = .3).
TURNED: Final = (6, 0.4)

# From given pairs: what they weigh in a cross-covariance beside all rows, and how many beginnings. From 4 pairs,
# weights of 0, .01, .02 and .05 have 3, 4, 4 and 1 of four splits of reddit mpnet–e5 end right (α = .3, 1,024
# beginnings). With .015 and 512, 12 of 12 searches on three splits do (reddit mpnet–e5 at .15, stackexchange mpnet–e5
# at .3); with .01 and 256, 9. Films from 8 pairs do not end right with any of these.
GIVEN_WEIGHT: Final = 0.015
BEGINNINGS_OF_GIVEN: Final = 512

# An alignment taught by itself: a pass goes the way of CARRIED in half the rounds; how many passes at most, by how much
# one has to make more of the clouds agree than the one before for another to follow, which pairs are held (a share of
# the smaller cloud, at least and at most so many), and what they weigh beside all rows. papers mpnet–e5, α = .15: from
# 65 and 124 right pairs to 660 and 665 of 750; with twice the weight to 105 and 662, with 300 pairs to 547 and 660.
# Passes that lead somewhere make 10 % more agree, others less than 1 %, and the first is often one of those.
TAUGHT: Final = replace(CARRIED, rounds=HALFWAY)
TAUGHT_PASSES: Final = (4, 1.02)
TAUGHT_PAIRS: Final = (0.07, 40, 150)
TAUGHT_WEIGHT: Final = 0.05
