"""The equations of motion of a tree as data, from its links to code.

    mechanism_from_model → Mechanism → NamedModel → RecursiveForms (nodes of one Graph) → Program → Python, C

`trees.program_of_tree` goes the whole way: a list of operations over q, v, a and the parameters, in which equal parts
are computed once. `code` spells it; an emitter of its own walks through `Program.operations()`.
"""

import palpate.engine  # looks at the processor before MuJoCo is loaded  # noqa: F401
