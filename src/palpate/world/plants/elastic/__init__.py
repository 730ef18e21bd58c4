"""Elastic joints of a plant: springs and motors, their steps, and their motion in compiled code."""
