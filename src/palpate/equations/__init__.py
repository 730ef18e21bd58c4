"""The equations of motion of a tree as data: model, expression graph, straight-line programs, code."""
