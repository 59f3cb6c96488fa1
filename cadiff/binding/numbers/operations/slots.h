/* The number slots of both types: the operators that they share, and the table of all. */
#ifndef CADIFF_OPERATIONS_SLOTS_H
#define CADIFF_OPERATIONS_SLOTS_H

#include "numbers/objects/errors.h"

PyObject *cad_divmod(PyObject *left, PyObject *right);
PyObject *cad_matmul(PyObject *left, PyObject *right);
PyObject *cad_power(PyObject *base, PyObject *exponent, PyObject *modulus);

/* The operators of two numbers that are operations of the table. */
#define CAD_BINARY_OPERATORS(SLOT)                                                                \
    SLOT(add)                                                                                     \
    SLOT(subtract)                                                                                \
    SLOT(multiply)                                                                                \
    SLOT(divide)                                                                                  \
    SLOT(floor_divide)                                                                            \
    SLOT(mod)

#define CAD_DECLARE_IN_PLACE(name) PyObject *cad_in_place_##name(PyObject *left, PyObject *right);
CAD_BINARY_OPERATORS(CAD_DECLARE_IN_PLACE) /* cad_in_place_add and its like: x += y */
CAD_DECLARE_IN_PLACE(matmul)
PyObject *cad_in_place_power(PyObject *base, PyObject *exponent, PyObject *modulus);

/* The number slots of a type, whose own ones are called slot_add, slot_negative and the like. */
#define CAD_NUMBER_METHODS                                                                        \
    {                                                                                             \
        .nb_add = slot_add,                                                                       \
        .nb_subtract = slot_subtract,                                                             \
        .nb_multiply = slot_multiply,                                                             \
        .nb_remainder = slot_mod,                                                                 \
        .nb_divmod = cad_divmod,                                                                  \
        .nb_power = slot_power,                                                                   \
        .nb_negative = slot_negative,                                                             \
        .nb_positive = slot_positive,                                                             \
        .nb_absolute = slot_absolute,                                                             \
        .nb_bool = slot_bool,                                                                     \
        .nb_int = cad_number_int,                                                                 \
        .nb_float = cad_number_float,                                                             \
        .nb_floor_divide = slot_floor_divide,                                                     \
        .nb_true_divide = slot_divide,                                                            \
        .nb_index = cad_refuse_conversion,                                                        \
        .nb_matrix_multiply = cad_matmul,                                                         \
        .nb_inplace_add = cad_in_place_add,                                                       \
        .nb_inplace_subtract = cad_in_place_subtract,                                             \
        .nb_inplace_multiply = cad_in_place_multiply,                                             \
        .nb_inplace_true_divide = cad_in_place_divide,                                            \
        .nb_inplace_floor_divide = cad_in_place_floor_divide,                                     \
        .nb_inplace_remainder = cad_in_place_mod,                                                 \
        .nb_inplace_power = cad_in_place_power,                                                   \
        .nb_inplace_matrix_multiply = cad_in_place_matmul,                                        \
    }

#endif
