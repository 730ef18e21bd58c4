"""Statistics of runs: failure rates, rare failures, sensitivities, maps."""
