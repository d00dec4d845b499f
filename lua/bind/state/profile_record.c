/* Records the calls of a profile.
 *
 * Note [Profiles]
 * An observer sees the operators that the thread calls. The binding reports
 * what else takes time: its collections, backward passes and fused functions
 * (st__profile_enter). Each call becomes an event of the timeline, and is added
 * to two rows: that of its operator, and that of its operator, its caller and
 * the dtypes and shapes of its arguments, so the rows are complete even when
 * the timeline is full. Nothing here calls Lua, apart from reading the user's
 * line when a row is new.
 *
 * A call begins after its row was found, and ends before it is added. So its
 * time is its own, while the time of the profile itself counts as self time of
 * the caller.
 */

#include <stdlib.h>
#include <time.h>

#include "state/profile.h"

int64_t st__profile_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* -- Keys ----------------------------------------------------------------- */

typedef st__profile_key key;

static void add_head(key *k, st__key_head head) {
  memcpy(&k->words[k->n++], &head, sizeof head);
}

static void add_tensor(key *k, const st_tensor *t) {
  if (!t) {
    if (k->n < ST_PROFILE_WORDS) {
      add_head(k, (st__key_head){.kind = ST_KEY_MISSING});
    }
    return;
  }
  const int ndim = st_tensor_ndim(t);
  if (k->n + 1 + ndim > ST_PROFILE_WORDS) return;
  add_head(k, (st__key_head){
    ST_KEY_TENSOR, (uint8_t)st_tensor_dtype(t), (uint8_t)ndim,
    st_tensor_is_contiguous(t, ST_FORMAT_CONTIGUOUS), 0});
  if (ndim == 0) return;
  memcpy(&k->words[k->n], st_tensor_sizes(t), (size_t)ndim * 8);
  k->n += ndim;
}

static void add_dtype(key *k, const st_op *op, int i, int64_t dtype) {
  const st_arg *a = st_op_arg(op, i);
  if (!a || a->type != ST_TYPE_DTYPE || k->n == ST_PROFILE_WORDS) return;
  add_head(k, (st__key_head){.kind = ST_KEY_DTYPE, .dtype = (uint8_t)dtype});
}

void st__profile_add(key *k, const st_op *op, const st_value *args) {
  const int n = st_op_nargs(op);
  for (int i = 0; i < n; i++) {
    const st_value *v = &args[i];
    if (v->tag == ST_TAG_TENSOR) {
      add_tensor(k, v->u.tensor);
    } else if (v->tag == ST_TAG_TENSORS) {
      for (uint32_t j = 0; j < v->len; j++) add_tensor(k, v->u.tensors[j]);
    } else if (v->tag == ST_TAG_INT) {
      add_dtype(k, op, i, v->u.i);
    }
  }
}

static uint32_t hash_of(const key *k) {
  uint64_t h = 0;
  for (int i = 0; i < k->n; i++) {
    h = (h ^ k->words[i]) * UINT64_C(0x9E3779B97F4A7C15);
    h ^= h >> 32;
  }
  return (uint32_t)h;
}

/* -- Rows ----------------------------------------------------------------- */

static bool grow_slots(st__profile *p) {
  const int n = p->nslots ? 2 * p->nslots : 256;
  int *slots = st_limits_realloc(NULL, (size_t)n * sizeof *slots);
  if (!slots) return false;
  memset(slots, 0, (size_t)n * sizeof *slots);
  for (int r = 0; r < p->nrows; r++) {
    uint32_t at = p->rows[r].hash & (uint32_t)(n - 1);
    while (slots[at]) at = (at + 1) & (uint32_t)(n - 1);
    slots[at] = r + 1;
  }
  st_limits_free(p->slots);
  p->slots = slots;
  p->nslots = n;
  return true;
}

static bool make_room(st__profile *p) {
  if (p->nrows < p->row_room) return true;
  const int room = p->row_room ? 2 * p->row_room : 64;
  if (2 * room > p->nslots && !grow_slots(p)) return false;
  st__profile_row *rows =
    st_limits_realloc(p->rows, (size_t)room * sizeof *rows);
  if (!rows) return false;
  p->rows = rows;
  p->row_room = room;
  return true;
}

/* The user's line that is running, or NULL. */
static char *line_of_call(const st__profile *p) {
  char where[LUA_IDSIZE + 16];
  lua_State *L = p->h ? p->h->running : NULL;
  if (!L || st__current_state() != p->h) return NULL;
  st__where(p->h, L, where, sizeof where);
  const size_t size = strlen(where) + 1;
  char *text = size > 1 ? st_limits_realloc(NULL, size) : NULL;
  if (text) memcpy(text, where, size);
  return text;
}

static int add_row(st__profile *p, const key *k, uint32_t hash) {
  if (!make_room(p)) return ST_PROFILE_NONE;
  const size_t size = (size_t)k->n * sizeof *k->words;
  uint64_t *words = st_limits_realloc(NULL, size);
  if (!words) return ST_PROFILE_NONE;
  memcpy(words, k->words, size);
  const int r = p->nrows++;
  p->rows[r] = (st__profile_row){.key = words, .nkey = k->n, .hash = hash,
                                 .group = r, .parent = ST_PROFILE_NONE,
                                 .where = line_of_call(p)};
  uint32_t at = hash & (uint32_t)(p->nslots - 1);
  while (p->slots[at]) at = (at + 1) & (uint32_t)(p->nslots - 1);
  p->slots[at] = r + 1;
  return r;
}

/* The row of a key, ST_PROFILE_NONE without memory; *is_new if it is one. */
static int row_of(st__profile *p, const key *k, bool *is_new) {
  const uint32_t hash = hash_of(k);
  *is_new = false;
  if (p->nslots > 0) {
    uint32_t at = hash & (uint32_t)(p->nslots - 1);
    for (; p->slots[at]; at = (at + 1) & (uint32_t)(p->nslots - 1)) {
      const st__profile_row *row = &p->rows[p->slots[at] - 1];
      if (row->hash == hash && row->nkey == k->n &&
          memcmp(row->key, k->words, (size_t)k->n * 8) == 0) {
        return p->slots[at] - 1;
      }
    }
  }
  *is_new = true;
  return add_row(p, k, hash);
}

/* -- Calls ---------------------------------------------------------------- */

static int caller_of(const st__profile *p) {
  if (p->depth == 0 || p->depth > ST_PROFILE_DEPTH) return ST_PROFILE_NONE;
  return p->stack[p->depth - 1].group;
}

static void open_frame(st__profile *p, int group, int row) {
  if (p->depth++ >= ST_PROFILE_DEPTH) return;
  st__profile_frame *f = &p->stack[p->depth - 1];
  if (row == ST_PROFILE_NONE) group = row;
  *f = (st__profile_frame){.row = row, .group = group,
                           .live = st_memory_live()};
  if (row != ST_PROFILE_NONE) {
    p->rows[row].open++;
    if (group != row) p->rows[group].open++;
  }
  f->start = st__profile_now();
}

/* A call inside of one of the same row is part of the time of that one. */
static void add_call(st__profile_row *row, const st__profile_frame *f,
                     int64_t time, int64_t bytes) {
  row->calls++;
  row->self += time - f->inner;
  row->self_bytes += bytes - f->inner_bytes;
  if (--row->open > 0) return;
  row->total += time;
  row->bytes += bytes;
}

static bool has_event_room(st__profile *p) {
  if (p->nevents < p->event_room) return true;
  if (p->nevents >= p->event_limit) return false;
  int64_t room = p->event_room ? 2 * p->event_room : 1024;
  if (room > p->event_limit) room = p->event_limit;
  st__profile_event *e = st_limits_realloc(p->events, (size_t)room * sizeof *e);
  if (!e) return false;
  p->events = e;
  p->event_room = room;
  return true;
}

static void close_frame(st__profile *p, int64_t end) {
  if (p->depth == 0 || p->depth-- > ST_PROFILE_DEPTH) return;
  const st__profile_frame *f = &p->stack[p->depth];
  const int64_t time = end - f->start, bytes = st_memory_live() - f->live;
  if (p->depth > 0) {
    p->stack[p->depth - 1].inner += time;
    p->stack[p->depth - 1].inner_bytes += bytes;
  }
  if (f->row != ST_PROFILE_NONE) {
    add_call(&p->rows[f->row], f, time, bytes);
    if (f->group != f->row) add_call(&p->rows[f->group], f, time, bytes);
  }
  if (f->row != ST_PROFILE_NONE && has_event_room(p)) {
    p->events[p->nevents++] = (st__profile_event){
      f->row, p->depth, f->start - p->start, time, bytes};
  } else {
    p->lost++;
  }
}

static void before(void *ctx, const st_op *op, const st_value *args) {
  st__profile *p = ctx;
  bool is_new;
  key k = {.n = 1};
  k.words[0] = (uint64_t)(uintptr_t)op;
  const int group = row_of(p, &k, &is_new);
  int row = group;
  if (is_new && group >= 0) p->rows[group].op = op;
  if (group >= 0 && p->has_shapes && args) {
    const int caller = caller_of(p);
    k.words[k.n++] = (uint64_t)(int64_t)caller;
    st__profile_add(&k, op, args);
    row = row_of(p, &k, &is_new);
    if (is_new && row >= 0) {
      p->rows[row].op = op;
      p->rows[row].group = group;
      p->rows[row].parent = caller;
    }
  }
  open_frame(p, group, row);
}

static void after(void *ctx, const st_op *op, st_status status,
                  const st_value *rets) {
  const int64_t end = st__profile_now();
  (void)op, (void)status, (void)rets;
  close_frame(ctx, end);
}

static uint64_t hash_text(uint64_t h, const char *text) {
  for (; *text; text++) {
    h = (h ^ (unsigned char)*text) * UINT64_C(0x100000001B3);
  }
  return h;
}

/* The row of what is not an operator. */
static int named_row(st__profile *p, const char *what, const char *name) {
  bool is_new;
  key k = {.n = 1};
  k.words[0] = hash_text(hash_text(UINT64_C(0xCBF29CE484222325), what), name);
  k.words[0] |= 1; /* no address of an operator */
  const int row = row_of(p, &k, &is_new);
  if (is_new && row >= 0) {
    const size_t size = strlen(what) + strlen(name) + 1;
    char *text = p->rows[row].name = st_limits_realloc(NULL, size);
    if (text) snprintf(text, size, "%s%s", what, name);
  }
  return row;
}

void st__profile_enter(st__state *h, const char *what, const char *name) {
  for (st__profile *p = h->profile; p; p = p->outer) {
    const int row = named_row(p, what, name);
    open_frame(p, row, row);
  }
}

void st__profile_leave(st__state *h) {
  const int64_t end = st__profile_now();
  for (st__profile *p = h->profile; p; p = p->outer) close_frame(p, end);
}

/* -- Start and stop ------------------------------------------------------- */

void st__profile_start(st__profile *p) {
  p->observer = (st_observer){before, after, p, p->has_shapes, NULL};
  p->thread = pthread_self();
  p->outer = p->h->profile;
  p->h->profile = p;
  p->is_running = true;
  p->start = st__profile_now();
  st_watch(&p->observer);
}

static void unlink_profile(st__profile *p) {
  st__profile **link = &p->h->profile;
  while (*link && *link != p) link = &(*link)->outer;
  if (*link) *link = p->outer;
}

void st__profile_stop(st__profile *p) {
  if (!p->is_running) return;
  st_unwatch(&p->observer);
  p->stop = st__profile_now();
  while (p->depth > 0) close_frame(p, p->stop);
  p->is_running = false;
  unlink_profile(p);
}

void st__profile_abandon(st__profile *p) {
  unlink_profile(p);
  p->h = NULL;
}

void st__profile_free(st__profile *p) {
  for (int r = 0; r < p->nrows; r++) {
    st_limits_free(p->rows[r].name);
    st_limits_free(p->rows[r].key);
    st_limits_free(p->rows[r].where);
  }
  st_limits_free(p->rows);
  st_limits_free(p->slots);
  st_limits_free(p->events);
  st_limits_free(p);
}
