"""What will happen in a run, and how near the edge it is: asked of the loop itself."""
