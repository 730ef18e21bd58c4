"""Parts of `palpate show`: terms of a robot and of a pole, facts of joints, and scenarios."""
