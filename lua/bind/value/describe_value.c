/* Says in the words of Lua what a value is, and which names there are.
 */

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "value/value.h"

typedef st__text text;

void st__add_text(text *t, const char *format, va_list args) {
  const int n = vsnprintf(t->at, t->left, format, args);
  const size_t used = n < 0 ? 0 : (size_t)n < t->left ? (size_t)n
                                                      : t->left - 1;
  t->at += used;
  t->left -= used;
}

__attribute__((format(printf, 2, 3)))
static void add(text *t, const char *format, ...) {
  va_list args;
  va_start(args, format);
  st__add_text(t, format, args);
  va_end(args);
}

/* -- Values --------------------------------------------------------------- */

static void describe_number(st__state *h, lua_State *L, int idx, char *buf,
                            size_t size) {
  const double d = (double)lua_tonumber(L, idx);
  if (!isfinite(d)) {
    snprintf(buf, size, "%s", st__type_name(h, L, idx));
  } else if (fabs(d) < 0x1p63) {
    snprintf(buf, size, "number %.14g", d);
  } else {
    snprintf(buf, size, "number %.14g, which is beyond 64 bits", d);
  }
}

void st__describe_value(st__state *h, lua_State *L, int idx, char *buf,
                        size_t size) {
  switch (lua_type(L, idx)) {
    case LUA_TSTRING:
      snprintf(buf, size, "string '%.40s'", lua_tostring(L, idx));
      break;
    case LUA_TNUMBER:
      describe_number(h, L, idx, buf, size);
      break;
    case LUA_TBOOLEAN:
      snprintf(buf, size, "%s", lua_toboolean(L, idx) ? "true" : "false");
      break;
    default: snprintf(buf, size, "%s", st__type_name(h, L, idx));
  }
}

/* -- Names ---------------------------------------------------------------- */

void st__add_devices(text *t) {
  add(t, "\n  the devices are");
  st_device device;
  for (int k = 0; st_device_nth(k, &device); k++) {
    add(t, "%s %s", k ? "," : "", st_device_name(device));
  }
}

void st__describe_devices(char *buf, size_t size) {
  text t = {buf, size};
  st__add_devices(&t);
}

/* Number of insertions, deletions and substitutions that turn a into b; 9 for
 * a long text. */
static int distance(const char *a, const char *b) {
  int row[24];
  const int n = (int)strlen(b);
  if (n >= 24 || strlen(a) >= 24) return 9;
  for (int j = 0; j <= n; j++) row[j] = j;
  for (int i = 1; *a; a++, i++) {
    int corner = row[0];
    row[0] = i;
    for (int j = 1; j <= n; j++) {
      const int above = row[j];
      const int cost = corner + (*a != b[j - 1]);
      const int step = (above < row[j - 1] ? above : row[j - 1]) + 1;
      corner = above;
      row[j] = cost < step ? cost : step;
    }
  }
  return row[n];
}

/* The dtype whose name is similar to a text, or NULL. */
static const char *similar_dtype(const char *s) {
  const char *found = NULL, *dot = strrchr(s, '.');
  int best = strlen(s) <= 4 ? 2 : 3;
  if (dot) s = dot + 1; /* torch.float32 */
  for (int i = 0; i < ST_DTYPE_ALL; i++) {
    const char *name = st_dtype_name((st_dtype)i);
    const int d = distance(s, name);
    if (d >= best || !st_dtype_is_of_tensors((st_dtype)i)) continue;
    best = d;
    found = name;
  }
  return found;
}

void st__add_dtypes(text *t, const char *given) {
  const char *similar = given ? similar_dtype(given) : NULL;
  if (similar) add(t, "; did you mean '%s'?", similar);
  add(t, "\n  the dtypes are");
  for (int i = 0; i < ST_DTYPE_ALL; i++) {
    if (!st_dtype_is_of_tensors((st_dtype)i)) continue;
    add(t, "%s %s", i ? "," : "", st_dtype_name((st_dtype)i));
  }
}

void st__describe_dtypes(const char *given, char *buf, size_t size) {
  text t = {buf, size};
  *buf = '\0';
  st__add_dtypes(&t, given);
}
