"""What every test shares."""

from __future__ import annotations

from hypothesis import settings

# A busy machine is no failure: properties are judged by their examples, not by the clock.
settings.register_profile("ftt", deadline=None)
settings.load_profile("ftt")
