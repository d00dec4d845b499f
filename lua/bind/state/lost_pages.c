/* Whether pages of mapped files were lost, which calls ask when they return:
 * Note [Truncated files].
 */

#include "state/error.h"

atomic_bool st__has_lost_pages;

static atomic_bool is_new; /* no call has said so */
static _Atomic(const st__lost_files *) files; /* NULL: nothing is mapped */

void st__watch_lost_files(const st__lost_files *f) { atomic_store(&files, f); }

void st__note_lost_pages(void) {
  atomic_store(&is_new, true);
  atomic_store(&st__has_lost_pages, true);
}

bool st__is_lost(const st_tensor *t) {
  const st__lost_files *f = atomic_load(&files);
  return f && f->has_tensor(t);
}

/* A fault on another thread may set the flag again meanwhile. */
void st__clear_lost_pages(void) {
  atomic_store(&st__has_lost_pages, false);
  const st__lost_files *f = atomic_load(&files);
  if (atomic_load(&is_new) || (f && f->has_any())) {
    atomic_store(&st__has_lost_pages, true);
  }
}

static const char reason[] = "a mapped file, maybe that of another tensor, was "
  "truncated, or cannot be read or written; the rest of it is zeros now";

const char *st__lost_reason(void) {
  if (!atomic_load(&st__has_lost_pages) || !atomic_exchange(&is_new, false)) {
    return NULL;
  }
  st__clear_lost_pages();
  return reason;
}
