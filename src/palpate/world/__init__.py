"""What pushes back: the plant, surfaces, objects, a pole, pushes, sensors and actuators."""
