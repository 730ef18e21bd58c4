"""The exported machine code: kernels, objects, memory images and libraries."""
