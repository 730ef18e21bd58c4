"""Settings every test shares."""

from hypothesis import settings

# The same examples on every run: a red run can be repeated, and machines of any speed agree.
settings.register_profile("house", derandomize=True, deadline=None)
settings.load_profile("house")
