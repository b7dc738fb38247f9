"""What a kernel means: functions, memory, and what can run at once. It is independent of every pass.

Read in this order:

    narrow        what the functions of narrow numbers mean
    functions     what the functions of values mean
    workers       who is at work, and who has waited for whom
    histories     who has touched which byte, and whether it is over
    memory        arrays whose every access is checked
    prefetches    which cache lines are prefetched
    slices        loops over lanes as slices of arrays
    instructions  what an instruction does with its lanes
    nests         which nests of loops can run at once
    threads       what the threads of a loop can do at once
"""
