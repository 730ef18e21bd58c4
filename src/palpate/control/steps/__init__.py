"""Steps that compiled laws share: task space, force loop, orientation, kinematic chain, small linear algebra."""
