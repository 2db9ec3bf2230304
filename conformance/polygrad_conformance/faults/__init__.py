"""Faults to plant, and the proof that the suite finds them."""
