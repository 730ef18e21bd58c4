"""Forces on a plant: compliant and exact contact, pushes on the clock."""
