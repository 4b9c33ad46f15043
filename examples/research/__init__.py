"""A research agent over local pages."""
