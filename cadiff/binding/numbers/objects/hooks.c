/* See hooks.h. */
#include "numbers/objects/hooks.h"

int (*cad_rule_hook)(CadTape *tape, size_t entry);
int (*cad_slopes_hook)(CadTape *tape, size_t entry, CadSlopes *slopes);
int (*cad_second_rule_hook)(CadTape *tape, size_t entry, const CadAlong *along);
