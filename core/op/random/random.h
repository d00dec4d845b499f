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
/* The next n numbers of st__random32. */
void st__random_words(st_generator *g, uint32_t *words, int64_t n);
uint64_t st__random64(st_generator *g);
double st__random_uniform(st_generator *g);  /* [0, 1), 53 bits */
double st__random_normal(st_generator *g);   /* Box-Muller, in pairs */

/* The generator in v, or the default one if there is none. Borrowed. */
st_generator *st__generator_of(const st_value *v);

/* -- Whole tensors -------------------------------------------------------- */

/* Elements drawn between two questions whether to stop. */
enum { ST_RANDOM_BLOCK = 1 << 16 };

/* Runs loop over t's elements in memory order with g locked; does nothing for
 * meta tensors. */
st_status st__random_fill(st_tensor *t, st_generator *g, st_loop loop,
                          const void *ctx);

/* How the elements of a tensor are made of the generator's words. */
typedef struct st_draw {
  st_generator *g;
  st_loop make;     /* operands: numbers, words, the iterator's input */
  const void *ctx;  /* of make */
  int words;        /* of a number: 1 or 2 */
  int inputs;       /* of the iterator: 0 or 1 */
  st_dtype made;    /* the dtype of the numbers, at most 8 bytes; converted */
  st_dtype dtype;   /* to the dtype of the tensor */
} st_draw;

/* Draws t's elements in memory order. */
st_status st__random_draw(st_tensor *t, const st_draw *d);
/* Those of an iterator of CPU tensors: an output and the draw's inputs. */
st_status st__random_draw_iter(const st_iter *it, const st_draw *d);
/* n contiguous elements at p, without inputs. The caller locks d->g. */
void st__random_draw_run(const st_draw *d, char *p, int64_t n);

#endif
