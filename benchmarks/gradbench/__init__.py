"""cadiff as a tool of GradBench, and a table of it beside other tools."""
