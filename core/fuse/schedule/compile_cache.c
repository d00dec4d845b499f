/* The compile cache: keys of calls, lookup and insertion of schedules.
 *
 * Note [Keys of the compile cache]
 * The key of a call is a list of 64-bit words: the default dtype and the number
 * of arguments, then the kind of each argument with its arg spec (a tensor) or
 * its bytes (any other), then the sizes and strides of the tensors. Calls with
 * equal keys run the same schedule. A schedule for dynamic shapes is found by
 * the words before the sizes alone; these say that all tensors are contiguous.
 * In grad mode the arg specs say which tensors require a gradient, and an entry
 * is found only if its captured tensors require gradients as they did when they
 * were recorded (Note [Gradients of a recording]).
 */

#include "fuse/schedule/compile_cache.h"

#include <string.h>

#include "base/dtype.h"
#include "dispatch/watch.h"
#include "grad/graph/history.h"

enum { MAX_WORDS = 320 };

typedef struct key {
  int nspec, n;         /* words before the sizes; all words */
  bool is_contiguous;   /* all tensors are */
  bool has_gradients;   /* grad mode is on */
  uint64_t words[MAX_WORDS];
} key;

typedef struct entry {
  int n;
  uint64_t *words;      /* owned */
  st_schedule *steps;   /* owned; NULL: the function runs without fusion */
  char *why;            /* owned; the reason of that, or NULL */
} entry;

struct st_compile_cache {
  char *name;           /* owned */
  int n, next, last;    /* entries; the one to evict next; the last one found */
  entry entries[ST_COMPILE_CACHE_ENTRIES];
};

/* -- Lifetime ------------------------------------------------------------- */

st_status st_compile_cache_new(const char *name, st_compile_cache **out) {
  st_compile_cache *f = st__alloc_zero(ST_MEM_REGISTRY, sizeof *f);
  if (!f) return ST_NO_MEMORY;
  f->name = st__strndup(ST_MEM_REGISTRY, name, strlen(name));
  if (!f->name) {
    st__free(ST_MEM_REGISTRY, f, sizeof *f);
    return ST_NO_MEMORY;
  }
  *out = f;
  return ST_OK;
}

static void drop_entry(entry *e) {
  if (e->words) {
    st__free(ST_MEM_REGISTRY, e->words, (size_t)e->n * sizeof *e->words);
  }
  if (e->steps) st_schedule_release(&e->steps);
  if (e->why) st__free(ST_MEM_REGISTRY, e->why, strlen(e->why) + 1);
  *e = (entry){0};
}

void st_compile_cache_clear(st_compile_cache *f) {
  for (int i = 0; i < f->n; i++) drop_entry(&f->entries[i]);
  f->n = f->next = f->last = 0;
}

void st_compile_cache_release(st_compile_cache **fusion) {
  st_compile_cache *f = *fusion;
  *fusion = NULL;
  if (!f) return;
  st_compile_cache_clear(f);
  st__free(ST_MEM_REGISTRY, f->name, strlen(f->name) + 1);
  st__free(ST_MEM_REGISTRY, f, sizeof *f);
}

const char *st_compile_cache_name(const st_compile_cache *f) {
  return f->name;
}

/* -- Keys ----------------------------------------------------------------- */

/* The first argument that is the same tensor as argument i. */
static int first_alias(const st_compile_cache_arg *args, int i) {
  int k = 0;
  while (args[k].tensor != args[i].tensor) k++;
  return k;
}

static uint64_t spec_word(const st_tensor *t, int same, bool has_gradients) {
  const bool is_wrapped = (t->flags & ST_FLAG_WRAPPED) != 0;
  const bool is_derived = has_gradients && st__requires_grad(t);
  return (uint64_t)t->dtype | (uint64_t)(t->ndim == 0) << 8 |
         (uint64_t)is_wrapped << 9 |
         (uint64_t)st__is_contiguous(t) << 10 | (uint64_t)is_derived << 11 |
         (uint64_t)same << 16;
}

static bool add_bytes(key *k, const st_compile_cache_arg *arg) {
  if (arg->nbytes > 8 * (MAX_WORDS - k->n - 2)) return false;
  const int n = (arg->nbytes + 7) / 8;
  k->words[k->n++] = (uint64_t)arg->nbytes;
  if (n == 0) return true;
  k->words[k->n + n - 1] = 0;
  memcpy(&k->words[k->n], arg->bytes, (size_t)arg->nbytes);
  k->n += n;
  return true;
}

static bool add_geometry(key *k, const st_tensor *t) {
  if (2 * t->ndim + 1 > MAX_WORDS - k->n) return false;
  k->words[k->n++] = t->ndim;
  for (int d = 0; d < t->ndim; d++) {
    k->words[k->n++] = (uint64_t)t->sizes[d];
    k->words[k->n++] = (uint64_t)t->strides[d];
  }
  return true;
}

/* False if calls with these arguments are not cached: a tensor is not plain, or
 * on another device than the others, or the key is too long. */
static bool make_key(int n, const st_compile_cache_arg *args, key *k) {
  const st_tensor *first = NULL;
  k->has_gradients = st__tls().grad;
  k->words[0] = (uint64_t)st__default_dtype() << 32 | (uint64_t)n;
  k->n = 1;
  k->is_contiguous = true;
  for (int i = 0; i < n; i++) {
    const st_tensor *t = args[i].tensor;
    if (k->n + 2 > MAX_WORDS || (t && !st__is_recordable(t))) return false;
    const uint64_t kind = (uint64_t)args[i].kind << 56;
    if (t) {
      if (!first) first = t;
      if (t->device != first->device) return false;
      k->words[k->n++] = kind | spec_word(t, first_alias(args, i),
                                             k->has_gradients);
      k->is_contiguous = k->is_contiguous && st__is_contiguous(t);
    } else {
      k->words[k->n++] = kind;
      if (!add_bytes(k, &args[i])) return false;
    }
  }
  if (first) k->words[0] |= (uint64_t)first->device << 48;
  k->nspec = k->n;
  for (int i = 0; i < n; i++) {
    if (args[i].tensor && !add_geometry(k, args[i].tensor)) return false;
  }
  return true;
}

/* -- Entries -------------------------------------------------------------- */

static bool matches(const entry *e, const key *k) {
  if (e->steps && e->steps->is_dynamic) {
    return k->is_contiguous && e->n == k->nspec &&
           memcmp(e->words, k->words,
                  (size_t)k->nspec * sizeof *k->words) == 0;
  }
  return e->n == k->n &&
         memcmp(e->words, k->words, (size_t)k->n * sizeof *k->words) == 0;
}

static entry *find(st_compile_cache *f, const key *k) {
  for (int i = 0, at = f->last; i < f->n; i++, at++) {
    if (at >= f->n) at = 0;
    const entry *e = &f->entries[at];
    if (!matches(e, k)) continue;
    if (e->steps &&
        !st__schedule_derives_same(e->steps, k->has_gradients)) {
      continue;
    }
    f->last = at;
    return &f->entries[at];
  }
  return NULL;
}

/* The function is called from now on if a run found that the recording does not
 * describe what it calls. */
static void give_up_if_wrong(entry *e) {
  char text[160];
  if (!e->steps || !*e->steps->differs) return;
  snprintf(text, sizeof text, "what %s returns depends on elements",
           *e->steps->differs);
  e->why = st__strndup(ST_MEM_REGISTRY, text, strlen(text));
  st_schedule_release(&e->steps);
}

bool st_compile_cache_find(st_compile_cache *f, int n,
                           const st_compile_cache_arg *args,
                           st_schedule **steps) {
  key k;
  *steps = NULL;
  if (!st__may_fuse() || !make_key(n, args, &k)) return true;
  entry *e = find(f, &k);
  if (e) give_up_if_wrong(e);
  if (!e || (e->steps && !st__schedule_is_current(e->steps))) return false;
  if (e->steps) st__schedule_retain(*steps = e->steps);
  return true;
}

const char *st_compile_cache_why(st_compile_cache *f, int n,
                                 const st_compile_cache_arg *args) {
  key k;
  if (!st__may_fuse()) return "a mode, an observer or a thread setting "
                                "must see its calls";
  if (!make_key(n, args, &k)) return "its arguments have no cache key";
  const entry *e = find(f, &k);
  return !e ? "it changes its arguments" : e->why ? e->why : "";
}

/* An empty entry for the key: replaces the entry of the same key, or evicts one
 * if the cache is full. */
static entry *entry_for(st_compile_cache *f, const key *k) {
  entry *e = find(f, k);
  if (!e && f->n < ST_COMPILE_CACHE_ENTRIES) {
    e = &f->entries[f->n++];
  } else if (!e) {
    e = &f->entries[f->next];
    f->next = (f->next + 1) % ST_COMPILE_CACHE_ENTRIES;
  }
  drop_entry(e);
  return e;
}

/* steps NULL: the function runs without fusion, for the reason why. */
static st_status insert(st_compile_cache *f, int n,
                        const st_compile_cache_arg *args,
                        st_schedule *steps, const char *why) {
  key k;
  if (!make_key(n, args, &k)) return ST_OK;
  if (steps && steps->is_dynamic && !k.is_contiguous) steps->is_dynamic = false;
  const int nwords = steps && steps->is_dynamic ? k.nspec : k.n;
  const size_t size = (size_t)nwords * sizeof *k.words;
  uint64_t *words = st__alloc(ST_MEM_REGISTRY, size);
  if (!words) return ST_NO_MEMORY;
  memcpy(words, k.words, size);
  char *copy = why ? st__strndup(ST_MEM_REGISTRY, why, strlen(why)) : NULL;
  if (why && !copy) {
    st__free(ST_MEM_REGISTRY, words, size);
    return ST_NO_MEMORY;
  }
  entry *e = entry_for(f, &k);
  *e = (entry){nwords, words, steps, copy};
  if (!steps) return ST_OK;
  st__schedule_retain(steps);
  steps->slot = (int)(e - f->entries);
  return ST_OK;
}

/* -- Recordings ----------------------------------------------------------- */

static st_status compile(st_compile_cache *f, int n,
                         const st_compile_cache_arg *args,
                         st_recorder *r, st_schedule **steps) {
  int ntensors = 0;
  for (int i = 0; i < n; i++) ntensors += args[i].tensor != NULL;
  ST_TRY(st__schedule_new(r, ntensors, steps));
  const st_status status = insert(f, n, args, *steps, NULL);
  if (status != ST_OK) st_schedule_release(steps);
  return status;
}

st_status st_compile_cache_end(st_compile_cache *f, int n,
                               const st_compile_cache_arg *args,
                               st_recorder **recording, int noutputs,
                               st_tensor *const *outputs,
                               st_schedule **steps) {
  st_recorder *r = *recording;
  st_status status = ST_OK;
  *steps = NULL;
  st__recorder_leave(r);
  const bool is_whole = noutputs >= 0 &&
                        st__recorder_outputs(r, noutputs, outputs);
  if (r->lacks_memory) {
    status = st__fail(ST_NO_MEMORY, "%s: out of memory", f->name);
  } else if (r->was_stopped || st__recorder_input_changed(r)) {
    /* there is no key for what has been recorded */
  } else if (is_whole) {
    status = compile(f, n, args, r, steps);
  } else {
    status = insert(f, n, args, NULL,
                    r->was_refused ? r->why : "it fails with fake tensors");
  }
  st__recorder_free(recording);
  return status;
}
