/* See lent.h. */
#include "kernels/lent.h"

const CadLentName cad_lent_names[CAD_LENT_COUNT] = {
#define CAD_LENT_NAME(name, arity, kind) {#name, arity, kind},
    CAD_LENT_FUNCTIONS(CAD_LENT_NAME)
#undef CAD_LENT_NAME
};

double cad_ask(const CadHelp *help, CadLentCode code, double x, double y, double z, double w) {
    double numbers[] = {x, y, z, w}, found;
    const ptrdiff_t once = 1, steps[CAD_MOST_NUMBERS + 1] = {0};
    const int arity = cad_lent_names[code].arity;
    char *arguments[CAD_MOST_NUMBERS + 1];
    for (int k = 0; k < arity; k++) {
        arguments[k] = (char *)&numbers[k];
    }
    arguments[arity] = (char *)&found;
    help->lent[code].loop(arguments, &once, steps, help->lent[code].data);
    return found;
}
