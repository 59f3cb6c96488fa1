/* Special functions against constants computed elsewhere: mpmath at 50 digits, and NumPy.
 *
 * Each table is printed by the command above it, after
 *     from mpmath import mp, mpf; mp.dps = 50; show = lambda number: print(mp.nstr(number, 20)) */
#include "check.h"
#include "on_tape.h"
#include "table/special.h"

typedef struct Spot {
    double n; /* order, or first operand */
    double x;
    double expected;
} Spot;

/* An error of some units in the last place of the result, or of `scale` if that is larger. */
static void check_spot(double actual, const Spot *spot, double scale) {
    CHECK_NEAR(actual, spot->expected, 2e-15 * fmax(fabs(spot->expected), scale));
}

#define COUNT(table) (sizeof(table) / sizeof(table)[0])

/* show(mp.psi(n, mpf(x))) */
static const Spot polygammas[] = {
    {0.0, 1e-10, -10000000000.5772153},       {0.0, 0.5, -1.9635100260214234794},
    {0.0, 1.0, -0.57721566490153286061},      {0.0, 2.5, 0.70315664064524318723},
    {0.0, 9.999, 2.2516474172057353142},      {0.0, 10.0, 2.2517525890667211076},
    {0.0, 100000.0, 11.512920464961895087},   {0.0, 1e+300, 690.77552789821370526},
    {0.0, -0.5, 0.036489973978576520559},     {0.0, -1e-05, 99999.422767885629412},
    {0.0, -1.75, -2.3226916286143606462},     {0.0, -10.3, 4.6624034935820870175},
    {0.0, -1000.25, 10.050097693066705875},   {1.0, 0.001, 1000001.6425331958273},
    {1.0, 0.5, 4.9348022005446793094},        {1.0, 3.0, 0.39493406684822643647},
    {1.0, 25.5, 0.039994669649562924037},     {1.0, 10000.0, 0.00010000500016666666633},
    {1.0, -0.25, 18.541879647671606498},      {1.0, -1.5, 9.3792466449891237539},
    {1.0, -7.9, 103.23693140003948262},       {2.0, 0.001, -2000000002.3976321648},
    {2.0, 0.5, -16.828796644234319996},       {2.0, 3.0, -0.1541138063191885708},
    {2.0, 25.5, -0.0015993605962783072858},   {2.0, 10000.0, -1.0001000049999999833e-8},
    {2.0, -0.25, 122.69736678366236037},      {2.0, -1.5, -0.236204051641727403},
    {2.0, -7.9, -1998.6737828651746406},      {3.0, 0.001, 6000000000006.4686145},
    {3.0, 0.5, 97.409091034002437236},        {3.0, 3.0, 0.1189394022668291491},
    {3.0, 25.5, 0.00012789774302263914532},   {3.0, 10000.0, 2.0003000199999999e-12},
    {3.0, -0.25, 1555.7633125348505998},      {3.0, -1.5, 194.59427621918762242},
    {3.0, -7.9, 60014.248540140088402},       {4.0, 0.001, -24000000000000022.267},
    {4.0, 0.5, -771.47424982666722519},       {4.0, 3.0, -0.13626612344087823195},
    {4.0, 25.5, -0.000015339560019448909248}, {4.0, 10000.0, -6.0012000999999993e-16},
    {4.0, -0.25, 24473.199394184582527},      {4.0, -1.5, -0.31375599950673136338},
    {4.0, -7.9, -2399973.8359482043169},      {5.0, 0.001, 1.1999999999999998513e+20},
    {5.0, 0.5, 7691.1135486024354962},        {5.0, 3.0, 0.20616743813389676574},
    {5.0, 25.5, 2.4526975965589592805e-6},    {5.0, 10000.0, 2.40060005999999944e-19},
    {5.0, -0.25, 492198.75334287457971},      {5.0, -1.5, 15381.648528026303809},
    {5.0, -7.9, 120000297.90834971057},
};

static void polygamma_is_accurate(void) {
    for (size_t i = 0; i < COUNT(polygammas); i++) {
        const Spot *const s = &polygammas[i];
        /* Between a pole and the next the terms of the reflection cancel. */
        const double scale = s->x < 0.0 ? pow(CAD_PI, s->n + 1.0) : 0.0;
        check_spot(cad_polygamma(s->n, s->x), s, 10.0 * scale);
    }
}

static void polygamma_has_poles(void) {
    CHECK_SAME(cad_polygamma(0.0, 0.0), -INFINITY);
    CHECK_SAME(cad_polygamma(0.0, -0.0), INFINITY);
    CHECK_SAME(cad_polygamma(0.0, -3.0), NAN);
    CHECK_SAME(cad_polygamma(1.0, -3.0), INFINITY);
    CHECK_SAME(cad_polygamma(1.0, 0.0), INFINITY);
    CHECK_SAME(cad_polygamma(2.0, -3.0), -INFINITY);
    CHECK_SAME(cad_polygamma(2.0, -0.0), -INFINITY);
    CHECK_SAME(cad_polygamma(0.0, INFINITY), INFINITY);
    CHECK_SAME(cad_polygamma(2.0, INFINITY), 0.0);
    CHECK_SAME(cad_polygamma(0.0, -INFINITY), NAN);
    CHECK_SAME(cad_polygamma(0.0, NAN), NAN);
    CHECK_SAME(cad_polygamma(-1.0, 2.0), NAN);
    CHECK_SAME(cad_polygamma(0.5, 2.0), NAN);
}

/* Orders so high that gamma(n + 1) overflows: any answer, but at once. */
static void polygamma_of_huge_order_comes_back(void) {
    CHECK(!(cad_polygamma(1e300, 30.0) < 0.0));
    CHECK(!(cad_polygamma(1e300, 1e300) < 0.0));
    CHECK(!(cad_polygamma(INFINITY, 2.0) < 0.0));
}

/* show(mp.pi**n * mp.quad(lambda t: t**n * mp.cos(mp.pi*mpf(x)*t + n*mp.pi/2),
 *                         mp.linspace(0, 1, 9 + int(abs(x))))) */
/* x, and the orders 0 to 4 */
static const double sincs[][6] = {
    {0.0, 1.0, 0.0, -3.2898681336964529, 0.0, 19.481818206800487},
    {1e-09, 1.0, -3.2898681336964531e-9, -3.2898681336964529, 1.9481818206800489e-8,
     19.481818206800487},
    {0.01, 0.99983551471054868, -0.032895434481712399, -3.2888941000101958, 0.19479529272766102,
     19.474951580404112},
    {0.3, 0.85839369133413979, -0.90202813013888879, -2.4584852862661743, 5.2474931529243694,
     13.648773849855683},
    {0.4775, 0.66495288292204369, -1.2446615643787999, -1.3495797453382814, 7.0192226698071727,
     5.9726848498994003},
    {1.0, 0.0, -1.0, 2.0, 3.8696044010893586, -15.478417604357434},
    {1.2, -0.15591488063143981, -0.5442517614529231, 2.4459044611635856, 0.53913692062359171,
     -16.98464986972885},
    {1.3, -0.19809085184633996, -0.29976492342010234, 2.4162551484598729, -1.1135057941987753,
     -15.869678146045449},
    {-2.6, 0.11643488132933183, 0.16363533680933827, -1.0232928812011073, -2.3537515889606581,
     7.7206596642334501},
    {50.5, 0.0063031660630453598, -0.00012481516956525465, -0.062204812341597282,
     0.0036953353866295415, 0.61369297700501588},
    {0.1, 0.98363164308346597, -0.32575126788312397, -3.1930298359648538, 1.9253792898320052,
     18.799492671762524},
    {0.2, 0.93548928378863903, -0.63236144706845808, -2.9092946817677033, 3.7160317853202202,
     16.804525099496879},
    {0.4, 0.75682672864065695, -1.1195243356642739, -1.8719587335325203, 6.4150017822579367,
     9.5717858845446495},
    {0.6, 0.50455115242710468, -1.3559469113367535, -0.45989723678008187, 7.3826119967243863,
     -0.069544173413230672},
    {0.9, 0.10929240478705175, -1.178165467869117, 1.5394726848616677, 5.2979261381403978,
     -12.900264584508133},
};

static void sinc_and_its_derivatives_are_accurate(void) {
    for (size_t i = 0; i < COUNT(sincs); i++) {
        for (int n = 0; n < 5; n++) {
            const Spot spot = {n, sincs[i][0], sincs[i][n + 1]};
            check_spot(cad_sinc(n, spot.x), &spot, pow(CAD_PI, n));
        }
    }
    for (double n = 0.0; n < 5.0; n += 1.0) {
        CHECK_SAME(cad_sinc(n, INFINITY), NAN); /* as numpy.sinc */
        CHECK_SAME(cad_sinc(n, NAN), NAN);
        const double sign = fmod(n, 2.0) == 0.0 ? 1.0 : -1.0;
        CHECK_SAME(cad_sinc(n, -0.7), sign * cad_sinc(n, 0.7));
    }
    CHECK_SAME(cad_sinc(-1.0, 1.0), NAN);
    CHECK_SAME(cad_sinc(0.5, 1.0), NAN);
}

/* The series and the recurrence meet without a step. */
static void sinc_is_continuous_where_the_method_changes(void) {
    for (double n = 1.0; n < 8.0; n += 1.0) {
        const double x = fmax(n, 1.5) / CAD_PI;
        const double below = cad_sinc(n, x * (1.0 - 1e-14)),
                     above = cad_sinc(n, x * (1.0 + 1e-14));
        CHECK_NEAR(below, above, 1e-13 * pow(CAD_PI, n));
    }
}

/* show(1 / (1 + mp.exp(-mpf(x)))) */
static const Spot expits[] = {
    {0.0, 0.0, 0.5},
    {0.0, 1e-20, 0.5},
    {0.0, 1.5, 0.81757447619364365961},
    {0.0, -1.5, 0.18242552380635634039},
    {0.0, 36.0, 0.99999999999999976805},
    {0.0, -40.0, 4.2483542552915889773e-18},
    {0.0, -700.0, 9.8596765437597708567e-305},
};

/* show(mp.log1p(mp.exp(mpf(x)))) */
static const Spot softpluses[] = {
    {0.0, 0.0, 0.69314718055994530942},        {0.0, 1e-20, 0.69314718055994530942},
    {0.0, 1.5, 1.7014132779827524095},         {0.0, -1.5, 0.2014132779827524095},
    {0.0, 36.0, 36.000000000000000232},        {0.0, -40.0, 4.2483542552915889863e-18},
    {0.0, -700.0, 9.8596765437597708567e-305},
};

static void expit_and_softplus_neither_overflow_nor_cancel(void) {
    for (size_t i = 0; i < COUNT(expits); i++) {
        check_spot(cad_expit(expits[i].x), &expits[i], 0.0);
        check_spot(cad_softplus(softpluses[i].x), &softpluses[i], 0.0);
    }
    CHECK_SAME(cad_expit(1000.0), 1.0);
    CHECK_SAME(cad_expit(-1000.0), 0.0);
    CHECK_SAME(cad_expit(INFINITY), 1.0);
    CHECK_SAME(cad_expit(-INFINITY), 0.0);
    CHECK_SAME(cad_expit(NAN), NAN);
    CHECK_SAME(cad_softplus(1000.0), 1000.0);
    CHECK_SAME(cad_softplus(INFINITY), INFINITY);
    CHECK_SAME(cad_softplus(-INFINITY), 0.0);
    CHECK_SAME(cad_softplus(NAN), NAN);
}

/* show(mp.log(mp.exp(mpf(n)) + mp.exp(mpf(x)))) */
static const Spot logaddexps[] = {
    {0.0, 0.0, 0.69314718055994530942},      {1.0, 2.0, 2.313261687518222834},
    {-3.5, 2.25, 2.2531777264714099267},     {1000.0, 1000.0, 1000.6931471805599453},
    {1000.0, 999.0, 1000.3132616875182228},  {-1000.0, -1001.5, -999.79858672201724759},
    {0.0, -40.0, 4.2483542552915889863e-18}, {1e-10, -10000000000.0, 1.0000000000000000364e-10},
};

/* show(mp.log(mpf(2)**mpf(n) + mpf(2)**mpf(x), 2)) */
static const Spot logaddexp2s[] = {
    {0.0, 0.0, 1.0},
    {1.0, 2.0, 2.5849625007211561815},
    {-3.5, 2.25, 2.2765612229853609813},
    {1000.0, 1000.0, 1001.0},
    {1000.0, 999.0, 1000.5849625007211562},
    {-1000.0, -1001.5, -999.56324820456017597},
    {0.0, -40.0, 1.3121234959619935995e-12},
    {1e-10, -10000000000.0, 1.0000000000000000364e-10},
};

static void logaddexp_does_not_overflow(void) {
    for (size_t i = 0; i < COUNT(logaddexps); i++) {
        const Spot *const s = &logaddexps[i], *const t = &logaddexp2s[i];
        check_spot(cad_logaddexp(s->n, s->x), s, 0.0);
        check_spot(cad_logaddexp(s->x, s->n), s, 0.0);
        check_spot(cad_logaddexp2(t->n, t->x), t, 0.0);
        check_spot(cad_logaddexp2(t->x, t->n), t, 0.0);
    }
}

static void logaddexp_of_infinities(void) {
    CHECK_SAME(cad_logaddexp(INFINITY, INFINITY), INFINITY);
    CHECK_SAME(cad_logaddexp(-INFINITY, -INFINITY), -INFINITY);
    CHECK_SAME(cad_logaddexp(INFINITY, -INFINITY), INFINITY);
    CHECK_SAME(cad_logaddexp(-INFINITY, 3.0), 3.0);
    CHECK_SAME(cad_logaddexp(1e308, -1e308), 1e308);
    CHECK_SAME(cad_logaddexp(NAN, INFINITY), NAN);
    CHECK_SAME(cad_logaddexp2(INFINITY, INFINITY), INFINITY);
    CHECK_SAME(cad_logaddexp2(-INFINITY, -INFINITY), -INFINITY);
    CHECK_SAME(cad_logaddexp2(-INFINITY, 3.0), 3.0);
    CHECK_SAME(cad_logaddexp2(1.0, NAN), NAN);
}

/* x, numpy.mod(x, divisors), numpy.floor_divide(x, divisors) */
static const double divisors[] = {2.0, -2.0, 0.0, -0.0, INFINITY, -INFINITY, 0.1};
static const struct {
    double x, rests[COUNT(divisors)], quotients[COUNT(divisors)];
} divided[] = {
    {7.5,
     {1.5, -0.5, NAN, NAN, 7.5, -INFINITY, 0.09999999999999959},
     {3.0, -4.0, INFINITY, -INFINITY, 0.0, -1.0, 74.0}},
    {-7.5,
     {0.5, -1.5, NAN, NAN, INFINITY, -7.5, 4.163336342344337e-16},
     {-4.0, 3.0, -INFINITY, INFINITY, -1.0, 0.0, -75.0}},
    {0.0, {0.0, -0.0, NAN, NAN, 0.0, -0.0, 0.0}, {0.0, -0.0, NAN, NAN, 0.0, -0.0, 0.0}},
    {-0.0, {0.0, -0.0, NAN, NAN, 0.0, -0.0, 0.0}, {-0.0, 0.0, NAN, NAN, -0.0, 0.0, -0.0}},
    {6.0,
     {0.0, -0.0, NAN, NAN, 6.0, -INFINITY, 0.09999999999999967},
     {3.0, -3.0, INFINITY, -INFINITY, 0.0, -1.0, 59.0}},
    {-6.0,
     {0.0, -0.0, NAN, NAN, INFINITY, -6.0, 3.3306690738754696e-16},
     {-3.0, 3.0, -INFINITY, INFINITY, -1.0, 0.0, -60.0}},
    {INFINITY,
     {NAN, NAN, NAN, NAN, NAN, NAN, NAN},
     {NAN, NAN, INFINITY, -INFINITY, NAN, NAN, NAN}},
    {NAN, {NAN, NAN, NAN, NAN, NAN, NAN, NAN}, {NAN, NAN, NAN, NAN, NAN, NAN, NAN}},
};

static void check_number_and_sign(double actual, double expected) {
    CHECK_SAME(actual, expected);
    CHECK(expected != expected || !signbit(actual) == !signbit(expected));
}

static void quotients_have_the_signs_of_numpy(void) {
    for (size_t i = 0; i < COUNT(divided); i++) {
        for (size_t k = 0; k < COUNT(divisors); k++) {
            const double x = divided[i].x, y = divisors[k];
            check_number_and_sign(cad_mod(x, y), divided[i].rests[k]);
            check_number_and_sign(cad_floor_divide(x, y), divided[i].quotients[k]);
        }
    }
    check_number_and_sign(cad_mod(-35052.05468502908, -5.588571786719636), -0.5324387235201584);
    check_number_and_sign(cad_floor_divide(-35052.05468502908, -5.588571786719636), 6272.0);
}

/* show(mp.gamma(mpf(x))) */
static const Spot gammas[] = {
    {0.0, 0.5, 1.7724538509055160273},   {0.0, 5.0, 24.0},
    {0.0, -0.5, -3.5449077018110320546}, {0.0, -1.5, 2.3632718012073547031},
    {0.0, 20.25, 256040133328476465.59},
};

static void gamma_follows_scipy_at_its_poles(void) {
    for (size_t i = 0; i < COUNT(gammas); i++) {
        check_spot(cad_gamma(gammas[i].x), &gammas[i], 0.0);
        CHECK_NEAR(cad_gammaln(gammas[i].x), log(fabs(gammas[i].expected)), 1e-14);
    }
    CHECK_SAME(cad_gamma(0.0), INFINITY);
    CHECK_SAME(cad_gamma(-0.0), -INFINITY);
    CHECK_SAME(cad_gamma(-2.0), NAN);
    CHECK_SAME(cad_gammaln(-2.0), INFINITY);
    CHECK_SAME(cad_gammaln(-INFINITY), -INFINITY);
}

static void small_functions_let_nan_through(void) {
    CHECK_SAME(cad_sign(NAN), NAN);
    CHECK_SAME(cad_sign(-INFINITY), -1.0);
    CHECK_SAME(cad_sign(-0.0), 0.0);
    CHECK_SAME(cad_heaviside(NAN, 0.5), NAN);
    CHECK_SAME(cad_heaviside(0.0, 0.5), 0.5);
    CHECK_SAME(cad_heaviside(-1.0, NAN), 0.0);
    CHECK_SAME(cad_maximum(NAN, 1.0), NAN);
    CHECK_SAME(cad_maximum(1.0, NAN), NAN);
    CHECK_SAME(cad_minimum(NAN, 1.0), NAN);
    CHECK_SAME(cad_minimum(1.0, NAN), NAN);
    CHECK_SAME(cad_minimum(1.0, -INFINITY), -INFINITY);
}

static void hypot_ratio_is_zero_at_the_origin(void) {
    CHECK_SAME(cad_hypot_ratio(0.0, 0.0), 0.0);
    CHECK_SAME(cad_hypot_ratio(-0.0, 1.0), 0.0);
    CHECK_SAME(cad_hypot_ratio(3.0, 4.0), 0.6);
    CHECK_SAME(cad_hypot_ratio(-1e-320, 0.0), -1.0);
    CHECK_SAME(cad_hypot_ratio(1e300, 0.0), 1.0);
    CHECK_SAME(cad_hypot_ratio(NAN, 0.0), NAN);
}

static void entropy_is_extended_by_its_limits(void) {
    CHECK_SAME(cad_entr(0.0), 0.0);
    CHECK_SAME(cad_entr(1.0), 0.0);
    CHECK_SAME(cad_entr(-1e-300), -INFINITY);
    CHECK_SAME(cad_entr(NAN), NAN);
    CHECK_SAME(cad_entr(INFINITY), -INFINITY);
}

const Test special_tests[] = {
    TEST(polygamma_is_accurate),
    TEST(polygamma_has_poles),
    TEST(polygamma_of_huge_order_comes_back),
    TEST(sinc_and_its_derivatives_are_accurate),
    TEST(sinc_is_continuous_where_the_method_changes),
    TEST(expit_and_softplus_neither_overflow_nor_cancel),
    TEST(logaddexp_does_not_overflow),
    TEST(logaddexp_of_infinities),
    TEST(quotients_have_the_signs_of_numpy),
    TEST(gamma_follows_scipy_at_its_poles),
    TEST(small_functions_let_nan_through),
    TEST(hypot_ratio_is_zero_at_the_origin),
    TEST(entropy_is_extended_by_its_limits),
    END_OF_TESTS,
};
