"""A tool for GradBench: each eval is a module, as a user of cadiff would write it."""
