"""Which schemes there are for a problem, best first.

Read in this order:

    permutations  the loop orders worth trying at each level: MOpt's classes, as data
    shares        how evenly cores can share loops
    registers     coverings of a problem by register tiles, best first
    sizes         tile sizes for each cache: scipy first, then the integers beside its answer
    panels        where a scheme may pack x into panels, S(x)
    strips        where a scheme may copy x strip by strip, S(x), with flattened pixels
    layouts       the ways in which tiles of dot groups may read x
    plan          what stands inside S(output), where reductions are cut, how cores share the work
    parts         into how many parts cores may cut a sum
    space         direct candidates for a problem, ranked by predicted time
    winograd      candidates that use Winograd's algorithm: blocks, the schemes of the products, predicted time
    candidates    all candidates for a CPU, in the order to try them (for a GPU: `gpu.model.predict.rank`)
    sample        random valid schemes over the same grammar
    explain       why a candidate won: a table of the parts of predicted times, and the reasons as sentences
"""
