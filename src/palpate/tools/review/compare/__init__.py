"""What is given beside what is right."""
