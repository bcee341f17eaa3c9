"""Speed, measured against plain implementations."""
