"""Kinds of joints, joints that are tied to others, joints that are locked."""
