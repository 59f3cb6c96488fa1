/* See state.h. */
#include "numbers/objects/state.h"

CadState cad_state;
