"""Decisions about a model before there is any text: passes from models to models, and plans.

Read in this order:

    repeated  steps that repeat an earlier one
    idioms    chains of maps that are one function
    fuse      maps that become a product's epilogue
    strided   products that read arrays in place
    group     other maps, joined with their readers
    narrow    products of bytes and of bf16, taken out of programs
    joins     arrays that are laid side by side
    in_place  where arrays lie in longer ones
    by_image  steps that take one image after the other
    memory    where the other arrays lie
    waits     where threads wait
"""
