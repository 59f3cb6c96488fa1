/* Kernels over stacks of operands, in the form of NumPy's generalized ufuncs: what programs call
 * by name. */
#ifndef CAD_KERNELS_STACKS_H
#define CAD_KERNELS_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* dims: turns of the loop, then the lengths of the axes of the cores, in the order in which the
 * signature first names them. steps, in bytes: those of each argument along the loop, then those
 * of the axes of each core. data: what else the loop is to be told, as an integer. A result that
 * begins with nan stands for a failure, and others give the reason; unless the kernel answers
 * always. */
typedef void CadStackLoop(char **arguments, const ptrdiff_t *dims, const ptrdiff_t *steps,
                          void *data);

typedef struct CadStackKernel {
    const char *name;
    const char *signature; /* as that of a generalized ufunc */
    CadStackLoop *loop;
    bool answers_always; /* nan is a result like others */
} CadStackKernel;

/* All of them; behind the last one a name is NULL. */
extern const CadStackKernel cad_stack_kernels[];

#endif
