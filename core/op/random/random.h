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
 * different numbers of words, ST_SAMPLE of them have a stream of their own.
 */
#ifndef ST_OP_RANDOM_RANDOM_H
#define ST_OP_RANDOM_RANDOM_H

#include "kernel/random/random.h"
#include "op/row/typed.h"

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
  bool has_normal;     /* the second of a pair is in normal */
  double normal;
} st_source;

/* The next n words. */
void st__random_words(st_source *s, uint32_t *words, int64_t n);
double st__random_uniform(st_source *s);  /* [0, 1), 53 bits */
/* The next n normal numbers: Box-Muller, in pairs. exact: PyTorch's bits; a
 * Mersenne source keeps the second of a pair with these. */
void st__random_normals(st_source *s, double *out, int64_t n, bool exact);

/* Makes the words of mt's state, which is not renewed. */
void st__mersenne_temper(st_mt19937 *mt);

/* Moves a source of Philox by n words; leaves a Mersenne one. */
void st__random_seek(st_source *s, uint64_t n);
/* Moves it to the start of stream i. */
void st__random_stream(st_source *s, uint64_t i);
/* The source of child i of a source of Philox. */
st_source st__random_child(const st_source *s, uint64_t i);

/* -- Windows -------------------------------------------------------------- */

/* Note [Windows of uniform numbers]
 * A method of rejection reads uniform numbers, one after another, and takes
 * some as they are, and geometric and normal numbers of others. Those are made
 * of many at a time. A window has the next uniform numbers, which are
 * still words of a Mersenne source: it takes those that were read. The next
 * pairs are supposed to be `step` numbers apart; if one is elsewhere, the rest
 * of the normal numbers is made again, and fewer. */
enum { ST_WINDOW = 128, ST_PAIRS = 16 };

typedef struct st_window {
  st_source *source;
  int size;            /* numbers made at a time */
  int at, n;           /* the next number in u, and their number */
  bool is_ahead;       /* the words of u are still in the source */
  double u[ST_WINDOW];
  double waits[ST_WINDOW], log_failure; /* geometric numbers of u */
  int waits_begin, waits_end;
  int pair, pairs, first, step; /* pair k is of u[first + k step] */
  int most;            /* pairs made at a time */
  double u1[ST_PAIRS], u2[ST_PAIRS], x[ST_PAIRS], y[ST_PAIRS];
  double last_u1, last_u2;  /* of the last pair that was read */
  bool is_exact;       /* keeps a normal number of PyTorch's bits at the end */
} st_window;

/* A window to draw n elements. Nothing else draws from s until it is closed,
 * which leaves the second of a pair in s if only the first was read. */
void st__window_open(st_window *w, st_source *s, int64_t n);
void st__window_close(st_window *w);
/* Makes the next numbers; all have been read. */
void st__window_fill(st_window *w);

static inline double st__window_uniform(st_window *w) {
  if (w->at == w->n) st__window_fill(w);
  return w->u[w->at++];
}

/* Makes `waits` of the next uniform numbers: ceil(log(u) / log_failure). */
void st__window_waits(st_window *w, double log_failure);
/* The next normal number. The pair after this one is expected `step` uniform
 * numbers later. */
double st__window_normal(st_window *w, int step);

/* -- Generators ----------------------------------------------------------- */

/* A seed from the system, of 53 bits. */
ST_API uint64_t st_system_seed(void);
ST_API st_status st_generator_new_of(st_algorithm algorithm, uint64_t seed,
                                     st_generator **out);
ST_API void st_generator_retain(st_generator *g);
/* nulls *g, which may be NULL */
ST_API void st_generator_release(st_generator **g);
ST_API st_algorithm st_generator_algorithm(const st_generator *g);
ST_API void st_generator_seed(st_generator *g, uint64_t seed);
ST_API uint64_t st_generator_initial_seed(const st_generator *g);
/* Copies algorithm and state. */
ST_API void st_generator_assign(st_generator *g, st_generator *from);
/* *out: the next child of g. BAD_STATE unless g is Philox. */
ST_API st_status st_generator_split(st_generator *g, st_generator **out);
/* Skips n words. BAD_STATE unless g is Philox, BAD_VALUE beyond 2^64 words. */
ST_API st_status st_generator_jump(st_generator *g, uint64_t n);
/* The state as bytes: those of PyTorch's generator, or ST_PHILOX_STATE.
 * BAD_VALUE: not a state, or the size, of g's algorithm. */
ST_API size_t st_generator_state_size(st_generator *g);
ST_API st_status st_generator_get_state(st_generator *g, void *bytes, size_t n);
ST_API st_status st_generator_set_state(st_generator *g, const void *bytes,
                                        size_t n);
/* The generator of operators that are given none. Borrowed. */
ST_API st_generator *st_default_generator(void);
/* See strided.h. */
ST_API st_generator *st_generator_enter(st_generator *g);

/* The generator in v, or the default one if there is none. Borrowed. */
st_generator *st__generator_of(const st_value *v);
#define ST_IN_ANY_GENERATOR(v) st__generator_of(v)

/* -- Draws ---------------------------------------------------------------- */

/* Elements that a Mersenne source gives between two questions whether to
 * stop. */
enum { ST_RANDOM_BLOCK = 1 << 16 };

/* Draws the elements [begin, end) from s. */
typedef void (*st_draw_fn)(const void *ctx, st_source *s, int64_t begin,
                           int64_t end);

enum {
  ST_SAMPLE = 256,    /* elements that draw from one stream of Philox */
  ST_OF_PAIRS = -1    /* elements are of pairs, each of a block of Philox */
};

/* Calls fn for ranges that cover n elements: Note [Words of a draw]. words: of
 * each element, or ST_OF_PAIRS, a block for two and for the last one alone; or
 * 0 if not the same for all: ranges then begin at multiples of ST_SAMPLE.
 * Philox has threads for `grain` elements each. */
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

/* Refuses a tensor that is not of floats, on the CPU or Meta. */
st_status st__check_floats(const st_tensor *self);
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

/* out[i] is drawn with the parameters a[i] and b[i], for n elements. */
typedef void (*st_sampler)(st_window *w, const double *a, const double *b,
                           double *out, int64_t n);

/* All are contiguous and float64, and of the same size. */
st_status st__random_sample(const st_tensor *out, const st_tensor *a,
                            const st_tensor *b, st_sampler sampler,
                            st_generator *g);

#endif
