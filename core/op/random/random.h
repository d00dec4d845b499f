/* Random numbers: generators, and the operators that draw from them.
 *
 * A generator is one of two algorithms. The Mersenne Twister MT19937 of
 * Matsumoto and Nishimura is the default: a seed gives the same numbers as
 * PyTorch's CPU generator, on one thread in the order of memory. Philox
 * 4x32-10 of Salmon and others computes the words of any position, so threads
 * share a draw; generators split off others that are independent of them.
 *
 * Note [Words of a draw]
 * Operators know neither: they draw from a source, for a range of elements.
 * A source of Mersenne words is where the range before has left it. That of
 * Philox starts where the draw started, and the range moves it to its first
 * element (st__random_seek), so the numbers of a seed do not depend on the
 * number of threads. A draw takes whole blocks of Philox. Where elements take
 * different numbers of words, each has a stream of its own.
 */
#ifndef ST_OP_RANDOM_RANDOM_H
#define ST_OP_RANDOM_RANDOM_H

#include "kernel/random/random.h"
#include "op/registry/op.h"

/* -- Sources -------------------------------------------------------------- */

typedef struct st_mt19937 {
  uint32_t state[ST_MT19937_WORDS];
  uint32_t words[ST_MT19937_WORDS];   /* that state gives */
  int next;                           /* into words; at the end: renew state */
} st_mt19937;

typedef struct st_source {
  st_mt19937 *mt;      /* NULL: Philox */
  st_philox_at at;     /* the block of Philox that has the next word */
  int lane;            /* of the next word in it; not 0: words has the block */
  uint32_t words[ST_PHILOX_WORDS];
  const uint32_t *ahead; /* the words of block `at`, if blocks_ahead > 0 */
  int blocks_ahead;    /* of one stream, ST_STREAMS blocks apart in memory */
  bool has_normal;     /* the second of a pair is in normal */
  double normal;
} st_source;

uint32_t st__random32(st_source *s);
/* The next n numbers of st__random32. */
void st__random_words(st_source *s, uint32_t *words, int64_t n);
uint64_t st__random64(st_source *s);
double st__random_uniform(st_source *s);  /* [0, 1), 53 bits */
double st__random_normal(st_source *s);   /* Box-Muller, in pairs */

/* Makes the words of mt's state, which is not renewed. */
void st__mersenne_temper(st_mt19937 *mt);

/* Moves a source of Philox by n words; leaves a Mersenne one. */
void st__random_seek(st_source *s, uint64_t n);
/* The first `blocks` blocks of the streams of n elements from `begin` on: the
 * first ones side by side, then the second ones. */
enum { ST_STREAMS = 32, ST_MAX_AHEAD = 5 };
typedef struct st_streams {
  int64_t begin;
  int n, blocks;
  uint32_t words[ST_MAX_AHEAD][ST_STREAMS][ST_PHILOX_WORDS];
} st_streams;

/* Uniform number `at` of stream k, which st__random_uniform would give. */
static inline double st__stream_uniform(const st_streams *streams, int k,
                                        int at) {
  const uint32_t *w = streams->words[at / 2][k] + at % 2 * 2;
  const uint64_t pair = (uint64_t)w[0] << 32 | w[1];
  return (double)(int64_t)(pair & ((UINT64_C(1) << 53) - 1)) * 0x1p-53;
}

/* Makes the words for the other fields, for a source of Philox that is at the
 * start of a draw. */
void st__random_streams(const st_source *s, st_streams *streams);
/* Moves it to the stream of element begin + k. */
void st__random_stream(st_source *s, const st_streams *streams, int k);
/* The source of child i of a source of Philox. */
st_source st__random_child(const st_source *s, uint64_t i);

/* -- Generators ----------------------------------------------------------- */

st_status st__generator_new(st_algorithm algorithm, uint64_t seed,
                            st_generator **out);
void st__generator_retain(st_generator *g);
void st__generator_release(st_generator **g); /* nulls *g, which may be NULL */
st_algorithm st__generator_algorithm(const st_generator *g);
void st__generator_seed(st_generator *g, uint64_t seed);
uint64_t st__generator_initial_seed(const st_generator *g);
/* Copies algorithm and state. */
void st__generator_assign(st_generator *g, st_generator *from);
/* *out: the next child of g. BAD_STATE unless g is Philox. */
st_status st__generator_split(st_generator *g, st_generator **out);
/* Skips n words. BAD_STATE unless g is Philox, BAD_VALUE beyond 2^64 words. */
st_status st__generator_jump(st_generator *g, uint64_t n);
/* The state as bytes: those of PyTorch's generator, or ST_PHILOX_STATE.
 * BAD_VALUE: not a state, or the size, of g's algorithm. */
size_t st__generator_state_size(st_generator *g);
st_status st__generator_get_state(st_generator *g, void *bytes, size_t n);
st_status st__generator_set_state(st_generator *g, const void *bytes,
                                  size_t n);
/* The generator of operators that are given none. Borrowed. */
st_generator *st__default_generator(void);

/* The generator in v, or the default one if there is none. Borrowed. */
st_generator *st__generator_of(const st_value *v);

/* -- Draws ---------------------------------------------------------------- */

/* Elements that a Mersenne source gives between two questions whether to
 * stop. */
enum { ST_RANDOM_BLOCK = 1 << 16 };

/* Draws the elements [begin, end) from s. */
typedef void (*st_draw_fn)(const void *ctx, st_source *s, int64_t begin,
                           int64_t end);

/* Calls fn for ranges that cover n elements: Note [Words of a draw]. words: of
 * each element; 0 if it is not the same for all. Philox has threads for
 * `grain` elements each. */
st_status st__random_run(st_generator *g, int64_t n, int words, int64_t grain,
                         st_draw_fn fn, const void *ctx);

/* How the elements of a tensor are made of the generator's words. */
typedef struct st_draw {
  st_loop make;     /* operands: numbers, words, the iterator's input */
  const void *ctx;  /* of make */
  int words;        /* of a number: 1 or 2 */
  int inputs;       /* of the iterator: 0 or 1 */
  st_dtype made;    /* the dtype of the numbers, at most 8 bytes; converted */
  st_dtype dtype;   /* to the dtype of the tensor */
} st_draw;

/* Draws t's elements in memory order; does nothing for meta tensors. */
st_status st__random_draw(st_tensor *t, const st_draw *d, st_generator *g);
/* Those of an iterator of CPU tensors: an output and the draw's inputs. */
st_status st__random_draw_iter(const st_iter *it, const st_draw *d,
                               st_generator *g);
/* The next n contiguous elements at p, without inputs. */
void st__random_draw_run(const st_draw *d, st_source *s, char *p, int64_t n);

/* fn(normal number * std + mean) for t's elements in memory order, if fn is
 * not NULL; one number after another. */
st_status st__random_draw_normal(st_tensor *t, double mean, double std,
                                 double (*fn)(double), st_generator *g);

/* An element of a sample has parameters of its own. Most take no more than
 * `ahead` blocks of Philox. `some` is for the elements of the streams, or
 * NULL: fn for each. */
typedef struct st_sampler {
  double (*fn)(st_source *s, double a, double b);
  void (*some)(st_source *s, const st_streams *streams, const double *a,
               double *out);
  int ahead;
} st_sampler;

/* out[i] = fn(a[i], b[i]); all are contiguous and float64. */
st_status st__random_sample(const st_tensor *out, const st_tensor *a,
                            const st_tensor *b, const st_sampler *sampler,
                            st_generator *g);

#endif
