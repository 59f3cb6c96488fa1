from .generated.entries cimport CadTape
