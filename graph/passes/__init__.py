"""What is decided of a model before there is any text: models to models, and plans.

Read in this order:

    repeated  steps that do what an earlier one did
    idioms    chains of maps that are shorter in other words
    fuse      maps that become a product's epilogue
    strided   products that read arrays in place
    group     other maps, joined with their readers
    narrow    products of bytes and of bf16, taken out of programs
    layouts   the order of channels
    joins     arrays that are laid side by side
    in_place  where arrays lie in longer ones
    memory    where the other arrays lie
    waits     where threads wait
"""
