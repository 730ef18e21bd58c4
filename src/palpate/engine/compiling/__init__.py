"""How kernels are compiled, kept on disk, shipped and loaded again."""
