"""What is wrong or without effect in a scenario, said with its line."""
