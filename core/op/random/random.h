/* Random numbers: the generator, and the operators that draw from it.
 *
 * The generator is the Mersenne Twister MT19937 of Matsumoto and Nishimura. A
 * seed gives the same numbers as PyTorch's CPU generator.
 */
#ifndef ST_OP_RANDOM_RANDOM_H
#define ST_OP_RANDOM_RANDOM_H

#include "op/registry/op.h"

/* -- Generators ----------------------------------------------------------- */

st_status st__generator_new(uint64_t seed, st_generator **out);
void st__generator_retain(st_generator *g);
void st__generator_release(st_generator **g); /* nulls *g, which may be NULL */
void st__generator_seed(st_generator *g, uint64_t seed);
uint64_t st__generator_initial_seed(const st_generator *g);
void st__generator_assign(st_generator *g, st_generator *from);
/* The generator of operators that are given none. Borrowed. */
st_generator *st__default_generator(void);

/* Drawing. An operator locks the generator while it fills a tensor, so that
 * the tensor's numbers are consecutive. */
void st__generator_lock(st_generator *g);
void st__generator_unlock(st_generator *g);
uint32_t st__random32(st_generator *g);
uint64_t st__random64(st_generator *g);
double st__random_uniform(st_generator *g);  /* [0, 1), 53 bits */
double st__random_normal(st_generator *g);   /* Box-Muller, in pairs */

/* The generator in v, or the default one if there is none. Borrowed. */
st_generator *st__generator_of(const st_value *v);
/* Runs loop over t's elements in memory order with g locked; does nothing for
 * meta tensors. */
st_status st__random_fill(st_tensor *t, st_generator *g, st_loop loop,
                          const void *ctx);

#endif
