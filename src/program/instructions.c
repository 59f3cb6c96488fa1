/* What instructions.def says of each kind, as a table. */
#include "program/program.h"

enum {
#define CAD_TRAIT(trait) trait = CAD_##trait,
    CAD_STEP_TRAITS(CAD_TRAIT)
};

const char *const cad_step_traits[CAD_N_TRAITS] = {
#undef CAD_TRAIT
#define CAD_TRAIT(trait) #trait,
    CAD_STEP_TRAITS(CAD_TRAIT)};

const CadStepInfo cad_step_info[CAD_STEP_KINDS] = {
#define ROW(...) | OVER_ROWS
#define LIST(...) | OVER_LISTS
#define BESIDE(...) | OVER_ROWS
#define PLAN(...) | OVER_PLAN
#define SINGLES | OVER_SINGLES
#define CHECKS | OVER_CHECKS
#define SCAN | OVER_SCAN
#define CAD_INSTRUCTION(kind, word, name, formula, left, traits, places)                          \
    {#kind, word, name, formula, left, (traits)places},
#include "program/instructions.def"
#undef ROW
#undef LIST
#undef BESIDE
#undef PLAN
#undef SINGLES
#undef CHECKS
#undef SCAN
};
