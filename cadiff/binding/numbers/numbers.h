/* Var and Dual as C types: all that the binding in Cython sees of them. The files in C include
 * what they use instead; a folder uses those above it in this list, and no other.
 *
 *   objects      what Var and Dual are, and how they live: layout, state, errors, handles
 *   operations   operations on any numbers: who computes what, comparisons, partials over objects
 *   var          what a Var does: values, sweeps, attributes, operators
 *   array        arrays of them: operations, indexing, assignment
 *   dual         what a Dual does
 *   module       functions, methods and protocols, put together at import */
#ifndef CADIFF_NUMBERS_H
#define CADIFF_NUMBERS_H

#include "numbers/objects/binding.h"
#include "numbers/objects/classify.h"
#include "numbers/objects/components.h"
#include "numbers/objects/errors.h"
#include "numbers/objects/handles.h"
#include "numbers/objects/references.h"
#include "numbers/objects/state.h"
#include "numbers/objects/threads.h"
#include "numbers/objects/types.h"
#include "numbers/objects/views.h"
#include "numbers/operations/operations.h"
#include "numbers/operations/slots.h"
#include "numbers/var/var.h"
#include "numbers/array/array.h"
#include "numbers/dual/dual.h"
#include "numbers/module/module.h"

#endif
