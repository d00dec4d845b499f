/* The registry of names and operators. link.c handles the registrations of an
 * operator.
 */

#include <string.h>

#include "base/memory.h"
#include "dispatch/entry.h"

/* -- Permanent memory ----------------------------------------------------- */

enum { MAX_PERMANENT = 64 << 20 };  /* bytes */
static size_t permanent;            /* bytes in use; under the mutex */

st_status st__check_permanent(void) {
  if (permanent < MAX_PERMANENT) return ST_OK;
  return st__fail(ST_BAD_STATE, "the names, schemas and texts of operators "
                  "are kept for the life of the process, and they have "
                  "reached their limit of %d MB: use the same names again",
                  MAX_PERMANENT >> 20);
}

void st__count_permanent(size_t size) { permanent += size; }

/* Allocates n zeroed bytes that are never freed. */
static st_status alloc_permanent(size_t n, void *out) {
  ST_TRY(st__check_permanent());
  void *p = st__alloc_zero(ST_MEM_REGISTRY, n);
  if (!p) return ST_NO_MEMORY;
  permanent += n;
  memcpy(out, &p, sizeof p);
  return ST_OK;
}

/* -- Names ---------------------------------------------------------------- */

/* A hash table of names that never grows and never frees a name. New names are
 * inserted at the head of a bucket, so look-ups need no lock. */
enum { BUCKETS = 4096 };
static _Atomic(st_name *) buckets[BUCKETS];

static uint32_t hash_of(const char *s, size_t n) {
  uint32_t h = 2166136261u;
  for (size_t i = 0; i < n; i++) h = (h ^ (unsigned char)s[i]) * 16777619u;
  return h;
}

static st_name *find_name(const char *s, size_t n) {
  const uint32_t hash = hash_of(s, n);
  st_name *name = atomic_load(&buckets[hash % BUCKETS]);
  while (name && (name->hash != hash || name->len != n ||
                  memcmp(name->text, s, n) != 0)) {
    name = name->next;
  }
  return name;
}

/* Under the mutex. */
static st_status intern(const char *s, size_t n, st_name **out) {
  st_name *name = *out = find_name(s, n);
  if (name) return ST_OK;
  ST_TRY(alloc_permanent(sizeof *name + n + 1, &name));
  name->hash = hash_of(s, n);
  name->len = (uint32_t)n;
  memcpy(name->text, s, n);
  _Atomic(st_name *) *bucket = &buckets[name->hash % BUCKETS];
  name->next = atomic_load(bucket);
  atomic_store(bucket, name);
  *out = name;
  return ST_OK;
}

st_status st__intern(const char *s, const char **out) {
  st_name *name = NULL;
  *out = "";
  if (!s) return ST_OK;
  ST_TRY(intern(s, strlen(s), &name));
  *out = name->text;
  return ST_OK;
}

/* Many registrations in a row have the same text. */
st_status st__intern_debug(const char *s, const char **out) {
  static const char *last = "";
  if (s && strcmp(s, last) == 0) {
    *out = last;
    return ST_OK;
  }
  const st_status status = st__intern(s, out);
  if (status == ST_OK) last = *out;
  if (status != ST_BAD_STATE) return status;
  *out = "";
  return ST_OK;
}

/* -- Operators ------------------------------------------------------------ */

static _Atomic(st_op *) first_op;
static st_op *last_op;

static st_op *find_overload(const st_name *name, const char *overload) {
  st_op *op = atomic_load(&((st_name *)(uintptr_t)name)->overloads);
  while (op && strcmp(op->overload, overload) != 0) {
    op = atomic_load(&op->next_overload);
  }
  return op;
}

static st_status full_name(const st_name *name, const char *overload,
                           const char **out) {
  const size_t n = strlen(overload), size = name->len + n + 2;
  char *text;
  if (n == 0) {
    *out = name->text;
    return ST_OK;
  }
  text = st__alloc(ST_MEM_SCRATCH, size);
  if (!text) return ST_NO_MEMORY;
  memcpy(text, name->text, name->len);
  text[name->len] = '.';
  memcpy(text + name->len + 1, overload, n + 1);
  const st_status status = st__intern(text, out);
  st__free(ST_MEM_SCRATCH, text, size);
  return status;
}

static void link_op(st_op *op, st_name *name) {
  _Atomic(st_op *) *link = &name->overloads;
  for (st_op *o; (o = atomic_load(link)); link = &o->next_overload) {}
  atomic_store(link, op);
  atomic_store(last_op ? &last_op->next : &first_op, op);
  last_op = op;
}

st_status st__name_op(const char *s, size_t n, const char *overload,
                      st_op **out) {
  st_name *name;
  ST_TRY(intern(s, n, &name));
  st_op *op = find_overload(name, overload);
  if (!op) {
    const char *text, *full;
    ST_TRY(st__intern(overload, &text));
    ST_TRY(full_name(name, text, &full));
    ST_TRY(alloc_permanent(sizeof *op, &op));
    op->name = name;
    op->overload = text;
    op->full = full;
    atomic_store(&op->doc, "");
    link_op(op, name);
  }
  *out = op;
  return ST_OK;
}

/* -- Look-up -------------------------------------------------------------- */

static const st_op *defined(const st_op *op) {
  return op && st__op_schema(op) ? op : NULL;
}

const st_op *st_op_find(const char *name, const char *overload) {
  const st_name *found = find_name(name, strlen(name));
  return found ? defined(find_overload(found, overload ? overload : ""))
               : NULL;
}

st_op *st__first_op(void) { return atomic_load(&first_op); }

size_t st__split_name(const char *full, const char **overload) {
  const size_t n = strcspn(full, ".");
  *overload = full[n] ? full + n + 1 : "";
  return n;
}

st_op *st__op_named(const char *full) {
  const char *overload;
  const st_name *found = find_name(full, st__split_name(full, &overload));
  return found ? find_overload(found, overload) : NULL;
}

const st_op *st__op_find_full(const char *full) {
  return defined(st__op_named(full));
}

void st_op_each(bool (*fn)(void *ctx, const st_op *op), void *ctx) {
  st_op *op = atomic_load(&first_op);
  for (; op; op = atomic_load(&op->next)) {
    if (defined(op) && !fn(ctx, op)) return;
  }
}

static uint64_t order_of(const st_op *op) {
  return atomic_load(&((st_op *)(uintptr_t)op)->order);
}

int st_op_overloads(const char *name, const st_op **ops, int n) {
  st_name *found = find_name(name, strlen(name));
  st_op *op = found ? atomic_load(&found->overloads) : NULL;
  int count = 0;
  for (; op; op = atomic_load(&op->next_overload)) {
    if (!defined(op)) continue;
    /* Insertion sort by order of definition; only the first n are kept. */
    int at = count < n ? count : n;
    for (; at > 0 && order_of(ops[at - 1]) > order_of(op); at--) {
      if (at < n) ops[at] = ops[at - 1];
    }
    if (at < n) ops[at] = op;
    count++;
  }
  return count;
}

const char *st_op_name(const st_op *op) { return op->name->text; }
const char *st_op_overload_name(const st_op *op) { return op->overload; }
const char *st__op_full_name(const st_op *op) { return op->full; }

const st_schema *st__op_schema(const st_op *op) {
  return atomic_load(&((st_op *)(uintptr_t)op)->schema);
}

const char *st_op_doc(const st_op *op) {
  return atomic_load(&((st_op *)(uintptr_t)op)->doc);
}

int st__op_tags(const st_op *op) {
  return atomic_load(&((st_op *)(uintptr_t)op)->tags);
}

const char *st__op_signature(const st_op *op) {
  return atomic_load(&((st_op *)(uintptr_t)op)->signature);
}

bool st__is_compatible(const st_registration *r) {
  const char *signature = r->op ? st__op_signature(r->op) : NULL;
  return !r->signature || !signature || r->signature == signature;
}
