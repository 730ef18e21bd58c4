"""A robot's network protocol in front of a run: programs written for the robot meet the scenario's world instead."""
