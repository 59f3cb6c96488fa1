"""Looking inside: recordings as text and drawings, checks of derivatives, sources of nan."""

from ..binding import NonFiniteError
from .checks import check_grads, nan_check
from .tape_listing import Tape, make_tape

__all__ = ["NonFiniteError", "Tape", "check_grads", "make_tape", "nan_check"]
