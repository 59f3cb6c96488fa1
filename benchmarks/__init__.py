"""Benchmarks of cadiff, and the plain opponents it is measured against."""
