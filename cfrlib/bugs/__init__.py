"""A museum of bugs."""
