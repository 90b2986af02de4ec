"""Checks over the whole: specs before a build, recomputation and rebuild after it, and the story of a number."""
