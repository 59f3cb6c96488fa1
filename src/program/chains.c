/* Long chains of additions, whose parts are not used elsewhere: each is carried out as one sum. */
#include "program/inner.h"

static int adds(const CadMaker *m, CadId id) {
    return !CAD_IS_ELEMENT(id) &&
           (m->graph->nodes[id].op == CAD_OP_add || m->graph->nodes[id].op == CAD_OP_subtract);
}

/* The operand of a sum or difference that is one itself and is not used elsewhere: the one of
 * more terms. What is subtracted is a term. */
static CadId inner_sum(const CadMaker *m, const CadNode *node) {
    CadId found = CAD_NO_ID;
    uint32_t most = 0;
    const CadId x[2] = {resolved(m, node->x), resolved(m, node->y)};
    for (int k = 0; k < (node->op == CAD_OP_add ? 2 : 1); k++) {
        if (adds(m, x[k]) && m->uses[x[k]] == 1 && m->chain[x[k]] > most) {
            found = x[k];
            most = m->chain[x[k]];
        }
    }
    return found;
}

void cad_maker_find_chains(CadMaker *m) {
    const CadGraph *graph = m->graph;
    if (!m->joins) {
        return;
    }
    for (size_t i = 0; i < graph->n_nodes; i++) {
        if (m->uses[i] > 0 && adds(m, (CadId)i)) {
            const CadId inner = inner_sum(m, &graph->nodes[i]);
            m->chain[i] = inner == CAD_NO_ID ? 2 : m->chain[inner] + 1;
        }
    }
    /* Heads of long chains keep their number of terms; their parts are used no more. */
    for (size_t i = graph->n_nodes; i-- > 0;) {
        if (m->uses[i] == 0 || m->chain[i] < LONG_CHAIN) {
            continue;
        }
        CadId part = inner_sum(m, &graph->nodes[i]);
        while (part != CAD_NO_ID) {
            const CadId next = inner_sum(m, &graph->nodes[part]);
            m->uses[part] = 0;
            part = next;
        }
    }
}

size_t cad_maker_terms(CadMaker *m, CadId head) {
    const size_t count = m->chain[head];
    if (!GROW(m, terms, 0, term_capacity, count)) {
        return 0;
    }
    CadId part = head;
    for (size_t k = count; k > 2;) {
        const CadNode *node = &m->graph->nodes[part];
        /* Its parts have no uses any more; that is what tells them. */
        const CadId x = resolved(m, node->x), y = resolved(m, node->y);
        const int x_is_part = adds(m, x) && m->uses[x] == 0 && m->chain[x] == k - 1;
        m->terms[--k] = (CadTerm){x_is_part ? y : x, x_is_part && node->op == CAD_OP_subtract};
        part = x_is_part ? x : y;
    }
    const CadNode *first = &m->graph->nodes[part];
    m->terms[1] = (CadTerm){resolved(m, first->y), first->op == CAD_OP_subtract};
    m->terms[0] = (CadTerm){resolved(m, first->x), 0};
    return count;
}
