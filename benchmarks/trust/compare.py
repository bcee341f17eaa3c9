"""How often `us.compare` decides rightly, over many logs whose truth is known by real runs."""

LOGS = 200
LOGS_OF_CHOICES = 60

PROTOCOL = """
**Compare and choose.** Two or more learners are rehearsed on one log with `us.compare`, and its decision is compared with
what real runs show. Grids of 5x5, without slips and with slips of .2, are logged by a uniform policy; Q-learning has
alpha .5 and gamma .95 unless said otherwise. Written before any result was looked at:

- *Equal learners*: two Q-learners of the same settings, whose learners have different random numbers: 100 and 1,000
  episodes, PSRS and QBE, both grids, epsilon .5; and epsilon .9 with 100 episodes. 200 logs a case. Wrong is any decision:
  that one earns more. Success: at most 5 % of all logs, and no case above 8 % (what a true 5 % exceeds in about one case
  of forty). With ten equal learners (100 episodes, slips, PSRS and QBE) wrong is that one is called the best of all; at
  most 5 %. How often any of them is said to earn less than the best is stated beside it.
- *Unequal learners*: the paper's Q-learning at epsilon .9 and .5, 1,000 episodes, both grids, PSRS and QBE, 200 logs a
  case, 20 runs. The truth is which earns more an episode in 200 real runs, over the same episodes. Success: the right one
  is decided for in at least 90 % of the logs of every case, and the wrong one in none of a hundred.
- *Choice among 20 settings*: epsilon .1 .3 .5 .7 .9 with alpha .1 .3 .5 .9; and, harder, epsilon .3 with twenty values of
  alpha from .02 to .95. 100 and 1,000 episodes, slips of .2, PSRS and QBE by turns, 60 logs a case. Loss: what the choice
  truly earns less than the best of the twenty, over the episodes that were compared, as a share of the range of their
  true values. Success: the mean loss of every case is at most .1. Beside it: the share of logs that lose more than that,
  how often the truly best is among those not told from the choice (claimed: 95 %), and the mean of the stated expected
  regret beside that of the true one.
"""
