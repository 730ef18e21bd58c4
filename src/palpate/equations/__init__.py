"""The equations of motion of a tree as data, from its links to code.

    mechanism_from_model → Mechanism → NamedModel → RecursiveForms (nodes of one Graph) → Program → Python, C
                                     → TreeSymbols → TreeGraph → machine code (`code.tree_program.TreeProgram`)

The first line gives what a person reads or exports, with names as in a textbook; the second what kernels call, with
every number a parameter. Both are the recursive algorithms on one graph, in which equal parts are computed once.
"""

import palpate.engine  # looks at the processor before MuJoCo is loaded  # noqa: F401
