"""A robot's network protocol in front of a run: programs written for the robot meet the scenario's world instead."""

import palpate.engine  # looks at the processor before MuJoCo is loaded  # noqa: F401
