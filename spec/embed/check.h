/* What the C programs of this folder share: a check that ends the program,
 * and tensors of one element.
 */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <strided.h>

#define CHECK(cond) do {                                               \
    if (!(cond)) {                                                     \
      fprintf(stderr, "line %d: %s\nmessage: %s\n", __LINE__, #cond,   \
              st_message());                                           \
      exit(1);                                                         \
    }                                                                  \
  } while (0)

#define UNUSED __attribute__((unused)) static

UNUSED st_tensor *one_element(double x) {
  const int64_t one = 1, zero = 0;
  const st_scalar s = {ST_SCALAR_FLOAT, {.f = x}};
  st_tensor *t;
  CHECK(st_tensor_empty(ST_DEVICE_CPU, ST_FLOAT64, 1, &one, NULL, &t) ==
        ST_OK);
  CHECK(st_tensor_set(t, 1, &zero, s) == ST_OK);
  return t;
}

UNUSED double item(const st_tensor *t) {
  const int64_t zero = 0;
  st_scalar s;
  CHECK(st_tensor_get(t, 1, &zero, &s) == ST_OK);
  return s.u.f;
}

UNUSED st_value arg(st_tensor *t) {
  return (st_value){ST_TAG_TENSOR, 0, {.tensor = t}};
}

UNUSED st_keyset key(const char *name) {
  st_keyset ks = 0;
  CHECK(st_key_parse(name, &ks));
  return ks;
}

UNUSED bool says(const char *part) {
  return strstr(st_message(), part) != NULL;
}

/* Does the text that fn makes contain part? */
UNUSED bool shows(st_status (*fn)(const char *, char **), const char *name,
                  const char *part) {
  char *text = NULL;
  CHECK(fn(name, &text) == ST_OK);
  const bool found = strstr(text, part) != NULL;
  st_text_release(&text);
  return found;
}

UNUSED st_library *open(const char *ns, st_library_kind kind, int flags) {
  st_library *lib;
  CHECK(st_library_open(ns, kind, NULL, flags, "dispatch.c", &lib) == ST_OK);
  return lib;
}

/* The keys of the last call of see_keys, a kernel. */
static st_keyset seen_keys;

UNUSED st_status see_keys(const st_call *call, const st_value *args,
                          st_value *rets) {
  seen_keys = call->keys;
  (void)args, (void)rets;
  return ST_OK;
}

UNUSED void nothing_left(void) {
  st_memory m;
  for (int k = 0; st_memory_stats(k, &m); k++) {
    if (strcmp(m.name, "registry") == 0) continue;
    CHECK(m.count == 0);
  }
  puts("nothing left");
}

#endif
