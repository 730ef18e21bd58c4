"""What is checked and foretold before the first step."""
