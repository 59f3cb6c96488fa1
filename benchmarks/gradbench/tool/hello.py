"""A number, squared."""


def square(x):
    return x * x


def arguments(input):
    return (input,)


def functions(compiled):
    program = compiled(square)
    return {"square": program, "double": program.grad}
