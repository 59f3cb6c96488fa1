/* Long chains of additions, whose parts are not used elsewhere: each is carried out as one sum. */
#include "program/maker.h"

static int adds(const CadMaker *m, size_t i) {
    const CadRecord *record = &m->graph->records[i];
    return record->kind == CAD_RECORD_SINGLE &&
           (record->op == CAD_OP_add || record->op == CAD_OP_subtract);
}

/* The operand of a sum or difference that is one itself and is not used elsewhere: the one of
 * more terms; 0: there is none. What is subtracted is a term. */
static uint32_t inner_sum(const CadMaker *m, size_t i) {
    const CadRecord *record = &m->graph->records[i];
    uint32_t inner = 0, most = 0;
    for (int k = 0; k < (record->op == CAD_OP_add ? 2 : 1); k++) {
        const uint32_t x = record_of(m, record->of.operands[k]);
        if (adds(m, x) && m->uses[x] == 1 && m->chain[x] > most) {
            inner = x;
            most = m->chain[x];
        }
    }
    return inner;
}

void cad_maker_find_chains(CadMaker *m) {
    if (!m->joins) {
        return;
    }
    for (size_t i = 0; i < m->graph->n_records; i++) {
        if (m->uses[i] > 0 && adds(m, i)) {
            const uint32_t inner = inner_sum(m, i);
            m->chain[i] = inner == 0 ? 2 : m->chain[inner] + 1;
        }
    }
    /* Heads of long chains keep their number of terms; their parts are used no more. */
    for (size_t i = m->graph->n_records; i-- > 0;) {
        if (m->uses[i] == 0 || m->chain[i] < LONG_CHAIN) {
            continue;
        }
        uint32_t part = inner_sum(m, i);
        while (part != 0) {
            const uint32_t next = inner_sum(m, part);
            m->uses[part] = 0;
            part = next;
        }
    }
}

size_t cad_maker_terms(CadMaker *m, size_t head) {
    const size_t count = m->chain[head];
    if (!GROW(m, terms, 0, 2 * count)) {
        return 0;
    }
    size_t part = head;
    for (size_t k = count; k > 1; k--) {
        const CadRecord *record = &m->graph->records[part];
        CadId x = record->of.operands[0], y = record->of.operands[1];
        const uint32_t left = resolve(m, &x), right = resolve(m, &y);
        if (k == 2) {
            m->terms[0] = x;
            m->terms[count] = 0;
        }
        /* Its parts have no uses any more; that is what tells them. */
        const int left_is_part =
            k == 2 || (adds(m, left) && m->uses[left] == 0 && m->chain[left] == k - 1);
        m->terms[k - 1] = left_is_part ? y : x;
        m->terms[count + k - 1] = left_is_part && record->op == CAD_OP_subtract;
        part = left_is_part ? left : right;
    }
    return count;
}

void cad_maker_find_fused(CadMaker *m) {
    for (size_t i = 0; i < m->graph->n_records && m->fuses; i++) {
        for (int k = 0; k < 2 && m->uses[i] > 0 && adds(m, i) && m->product[i] == 0; k++) {
            const uint32_t x = record_of(m, m->graph->records[i].of.operands[k]);
            const CadRecord *const record = &m->graph->records[x];
            if (record->kind == CAD_RECORD_SINGLE && m->uses[x] == 1 &&
                (record->op == CAD_OP_multiply || record->op == CAD_OP_amul)) {
                m->product[i] = x;
                m->uses[x] = 0;
            }
        }
    }
}

/* A sum of a product: the factors, then the other operand. */
static void operands_of_fused(CadMaker *m, size_t record, CadOperands *operands) {
    const CadId *const x = m->graph->records[record].of.operands;
    const CadId *const factors = m->graph->records[m->product[record]].of.operands;
    operands->few[0] = factors[0];
    operands->few[1] = factors[1];
    operands->few[2] = x[record_of(m, x[0]) == m->product[record]];
    operands->ids = operands->few;
    operands->n = 3;
}

void cad_maker_operands(CadMaker *m, size_t record, CadOperands *operands) {
    if (m->product[record] != 0) {
        operands_of_fused(m, record, operands);
        return;
    }
    if (!is_chain(m, record)) {
        cad_graph_operands(m->graph, record, operands);
        return;
    }
    operands->n = cad_maker_terms(m, record);
    operands->ids = m->terms;
}
