"""How long searches take, and the speeds that they reach.

Read in this order:

    latency      how long a user waits: first call, cached call, rankings
    disturbed    what a search chooses beside other programs, and what that loses
    search_cost  the speed that searches reach, over the seconds they take
"""
