"""The compiled core: Var and Dual as types of C, and the way from Python into its sweeps."""
