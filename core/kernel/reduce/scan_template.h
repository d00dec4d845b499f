/* The scan of one operation and dtype. scan_dtypes.h includes this file once
 * per dtype, after defining
 *
 *   NAME(f)              f, with a prefix for the operation and dtype
 *   OP(a, b)             the operation on a running value and an element
 *   T, A                 types of an element and of a running value (else T)
 *   LOAD(x), STORE(a)    from T to A and back (else casts)
 *   ASSOCIATIVE          if OP on T gives the same in any order
 *   LOAD_ROW, STORE_ROW  of half types: rows to float32 and back
 *
 * s: the strides along a line of the output and of the input, then those from
 * line to line.
 */

#ifndef A
#define A T
#endif
#ifndef LOAD
#define LOAD(x) ((A)(x))
#endif
#ifndef STORE
#define STORE(a) ((T)(a))
#endif
#define AT(T, p, offset) (*(T *)((p) + (offset)))

#ifdef ASSOCIATIVE
/* Four adjacent elements at a time: only one operation waits for those before
 * them. The result is exact in any order. */
static void NAME(_adjacent)(T *y, const T *x, int64_t n) {
  T a = LOAD(x[0]);
  int64_t i = 1;
  y[0] = a;
  while (i < n && !st__stops_at(i)) {
    const int64_t end = st__period_end(i, n);
    for (; i + 4 <= end; i += 4) {
      const T x0 = LOAD(x[i]), x1 = OP(x0, LOAD(x[i + 1]));
      const T x2 = LOAD(x[i + 2]), x3 = OP(x2, LOAD(x[i + 3]));
      const T b = OP(a, x1);
      y[i] = OP(a, x0);
      y[i + 1] = b;
      y[i + 2] = OP(b, x2);
      y[i + 3] = a = OP(b, x3);
    }
    for (; i < end; i++) y[i] = a = OP(a, LOAD(x[i]));
  }
}
#endif

static void NAME(_line)(char *to, const char *p, const int64_t *s, int64_t n) {
#ifdef ASSOCIATIVE
  if (s[0] == sizeof(T) && s[1] == sizeof(T)) {
    NAME(_adjacent)((T *)to, (const T *)p, n);
    return;
  }
#endif
  A a = LOAD(AT(const T, p, 0));
  AT(T, to, 0) = STORE(a);
  for (int64_t i = 1; i < n && !st__stops_at(i);) {
    for (const int64_t end = st__period_end(i, n); i < end; i++) {
      a = OP(a, LOAD(AT(const T, p, i * s[1])));
      AT(T, to, i * s[0]) = STORE(a);
    }
  }
}

/* Four independent lines at a time hide the latency of OP. */
static void NAME(_four)(char *to, const char *p, const int64_t *s, int64_t n) {
  A a[4];
  for (int l = 0; l < 4; l++) a[l] = LOAD(AT(const T, p, l * s[3]));
  for (int l = 0; l < 4; l++) AT(T, to, l * s[2]) = STORE(a[l]);
  for (int64_t i = 1; i < n && !st__stops_at(i); i++) {
    const char *x = p + i * s[1];
    char *y = to + i * s[0];
    for (int l = 0; l < 4; l++) {
      a[l] = OP(a[l], LOAD(AT(const T, x, l * s[3])));
      AT(T, y, l * s[2]) = STORE(a[l]);
    }
  }
}

/* Up to WIDTH adjacent lines, a row across them at a time. */
#ifdef LOAD_ROW
static void NAME(_lines)(char *to, const char *p, const int64_t *s, int64_t n0,
                         int64_t n1) {
  float row[WIDTH];
  A a[WIDTH];
  LOAD_ROW(row, p, s[3], n1);
  for (int64_t j = 0; j < n1; j++) a[j] = row[j];
  STORE_ROW(to, s[2], row, n1);
  for (int64_t i = 1; i < n0 && !stops_at_row(i); i++) {
    LOAD_ROW(row, p + i * s[1], s[3], n1);
    for (int64_t j = 0; j < n1; j++) {
      row[j] = (float)(a[j] = OP(a[j], (A)row[j]));
    }
    STORE_ROW(to + i * s[0], s[2], row, n1);
  }
}
#else
static void NAME(_lines)(char *to, const char *p, const int64_t *s, int64_t n0,
                         int64_t n1) {
  const bool dense = s[2] == sizeof(T) && s[3] == sizeof(T);
  A a[WIDTH];
  for (int64_t j = 0; j < n1; j++) a[j] = LOAD(AT(const T, p, j * s[3]));
  for (int64_t j = 0; j < n1; j++) AT(T, to, j * s[2]) = STORE(a[j]);
  for (int64_t i = 1; i < n0 && !stops_at_row(i); i++) {
    const char *x = p + i * s[1];
    char *y = to + i * s[0];
    if (dense) for (int64_t j = 0; j < n1; j++) {
      ((T *)y)[j] = STORE(a[j] = OP(a[j], LOAD(((const T *)x)[j])));
    } else for (int64_t j = 0; j < n1; j++) {
      a[j] = OP(a[j], LOAD(AT(const T, x, j * s[3])));
      AT(T, y, j * s[2]) = STORE(a[j]);
    }
  }
}
#endif

static ST_LOOP_FN(NAME(), s) {
  const bool across = is_across_lines(s[1], s[3], n1);
#ifdef ASSOCIATIVE
  const bool adjacent = s[0] == sizeof(T) && s[1] == sizeof(T);
#else
  const bool adjacent = false;
#endif
  for (int64_t j = 0, n; j < n1 && n0 > 0; j += n) {
    char *to = data[0] + j * s[2], *p = data[1] + j * s[3];
    n = across && n1 - j > WIDTH ? WIDTH : n1 - j;
    if (!across) n = n < 4 || adjacent ? 1 : 4;
    if (across) NAME(_lines)(to, p, s, n0, n);
    else if (n == 4) NAME(_four)(to, p, s, n0);
    else NAME(_line)(to, p, s, n0);
  }
}

#undef AT
#undef NAME
#undef T
#undef A
#undef LOAD
#undef STORE
#undef LOAD_ROW
#undef STORE_ROW
