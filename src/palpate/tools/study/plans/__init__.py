"""Plans of sweeps: the parameters, their values, and the runs."""
