/* Equations with triangular matrices of one dtype; included once for each.
 */

INLINE void F(divide)(V *y, const T *by, const int vectors) {
#if PARTS == 2
  T w[2], scale;
  F(invert)(by, w, &scale);
  w[0] = -w[0], w[1] = -w[1];
  UNROLL for (int v = 0; v < vectors; v++) {
    y[v] = F(minus)((V){0}, w, F(as_factor)(y[v]), 1) * scale;
  }
#else
  UNROLL for (int v = 0; v < vectors; v++) y[v] /= *by;
#endif
}

/* Rows i, i + 1 ... of the X at x, whose rows are `next` bytes apart. a: row i
 * of A. */
INLINE void F(solve_rows)(char *x, int64_t next, const char *a,
                          const int64_t *st, int64_t i, bool is_unit,
                          const int rows, const int vectors) {
  const int64_t col = st[1], row = st[3];
  char *const out = x + i * next;
  const int lanes = BYTES / (int)sizeof(T);
  V y[ROWS][2];
  UNROLL for (int r = 0; r < rows; r++) {
    UNROLL for (int v = 0; v < vectors; v++) {
      y[r][v] = F(get)((const T *)(const void *)(out + r * next) + v * lanes);
    }
  }
  for (int64_t k = 0; k < i; k++, x += next, a += col) {
    F(factor) above[2];
    UNROLL for (int v = 0; v < vectors; v++) {
      above[v] = F(as_factor)(
        F(get)((const T *)(const void *)x + v * lanes));
    }
    UNROLL for (int r = 0; r < rows; r++) {
      const T *const w = (const T *)(const void *)(a + r * row);
      UNROLL for (int v = 0; v < vectors; v++) {
        y[r][v] = F(minus)(y[r][v], w, above[v], 1);
      }
    }
  }
  UNROLL for (int r = 0; r < rows; r++) {
    const char *const at = a + r * row;
    UNROLL for (int k = 0; k < r; k++) {
      const T *const w = (const T *)(const void *)(at + k * col);
      UNROLL for (int v = 0; v < vectors; v++) {
        y[r][v] = F(minus)(y[r][v], w, F(as_factor)(y[k][v]), 1);
      }
    }
    if (!is_unit) {
      F(divide)(y[r], (const T *)(const void *)(at + r * col), vectors);
    }
    UNROLL for (int v = 0; v < vectors; v++) {
      F(put)((T *)(void *)(out + r * next) + v * lanes, y[r][v]);
    }
  }
}

INLINE void F(solve_all)(char *x, int64_t next, const char *a,
                         const int64_t *st, int64_t n, bool is_unit,
                         const int vectors) {
  int64_t i = 0;
  for (; i + ROWS <= n; i += ROWS) {
    F(solve_rows)(x, next, a + i * st[3], st, i, is_unit, ROWS, vectors);
  }
  for (; i < n; i++) {
    F(solve_rows)(x, next, a + i * st[3], st, i, is_unit, 1, vectors);
  }
}

/* A tile of one vector or two. */
static void F(solve_1)(char *x, int64_t next, const char *a,
                       const int64_t *st, int64_t n, bool is_unit) {
  F(solve_all)(x, next, a, st, n, is_unit, 1);
}
static void F(solve_2)(char *x, int64_t next, const char *a,
                       const int64_t *st, int64_t n, bool is_unit) {
  F(solve_all)(x, next, a, st, n, is_unit, 2);
}

/* Moves the tile to a buffer and back. Its rows start at x, `row` bytes apart,
 * and the elements of a row are `col` bytes apart; those of the buffer start at
 * packed, WIDTH bytes apart. */
static void F(move)(char *packed, char *x, int64_t col, int64_t row,
                    int64_t n, int64_t rows, bool back, st_loop transpose) {
  const bool is_column = row == SIZE;
  if (is_column && back) {
    transpose((char *[]){x, packed}, (int64_t[]){SIZE, WIDTH, col, SIZE}, rows,
              n, NULL);
  } else if (is_column) {
    transpose((char *[]){packed, x}, (int64_t[]){SIZE, col, WIDTH, SIZE}, n,
              rows, NULL);
  } else {
    for (int64_t r = 0; r < rows; r++) {
      for (int64_t c = 0; c < n; c++) {
        char *const at = x + r * row + c * col;
        char *const in = packed + r * WIDTH + c * SIZE;
        memcpy(back ? at : in, back ? in : at, SIZE);
      }
    }
  }
}

/* A tile in the buffer, whose first row is the lowest in memory. */
static void F(solve_packed)(char *x, const int64_t *st, const char *a,
                            int64_t n, int64_t rows, const st_triangle_ctx *w) {
  _Alignas(64) char packed[ST_TRIANGLE * WIDTH];
  const bool is_reversed = st[2] < 0;
  const int64_t last = rows - 1, row = is_reversed ? -st[2] : st[2];
  char *const low = is_reversed ? x + last * st[2] : x;
  char *const at = is_reversed ? packed + last * WIDTH : packed;
  const int64_t next = is_reversed ? -WIDTH : WIDTH;
  const bool is_wide = n * SIZE > BYTES;
  if (n * SIZE < WIDTH) memset(packed, 0, (size_t)(rows * WIDTH));
  F(move)(packed, low, st[0], row, n, rows, false, w->transpose);
  (is_wide ? F(solve_2) : F(solve_1))(at, next, a, st, rows, w->is_unit);
  F(move)(packed, low, st[0], row, n, rows, true, w->transpose);
}

static ST_LOOP_FN(F(triangle), st) {
  const st_triangle_ctx *w = ctx;
  const int64_t most = WIDTH / SIZE;
  for (int64_t j = 0, n; j < n0; j += n) {
    n = n0 - j < most ? n0 - j : most;
    char *const x = data[0] + j * st[0];
    if (st[0] == SIZE && n == most) {
      F(solve_2)(x, st[2], data[1], st, n1, w->is_unit);
    } else {
      F(solve_packed)(x, st, data[1], n, n1, w);
    }
  }
}
