/* Lanes of small matrices; included for each type and number of lanes.
 *
 * T: the element type. I: an integer of its size. LANES: matrices at a time.
 * TAG: the suffix of functions. ADD: of the type of sums that must not
 * overflow. A value for each matrix is an array of LANES, and EACH a statement
 * for all lanes.
 */

#define NAME_(name, tag) name##_##tag
#define NAME2(name, tag) NAME_(name, tag)
#define NAME(name) NAME2(name, TAG)
#define EACH _Pragma("omp simd") for (int l = 0; l < LANES; l++)

typedef T NAME(lanes)[LANES];
typedef I NAME(ints)[LANES];

/* A row of one matrix is a vector of ST_SMALL elements where that is sooner
 * than n; the rest are zeros. */
#define WIDE(n) (LANES == 1 ? ST_SMALL : (n))

/* Elements of count matrices, the rest of the lanes identity matrices. a's rows
 * have `width` elements. */
INLINE void NAME(load_rows)(NAME(lanes) *a, int width, const char *p,
                            int64_t next, int64_t row, int64_t col, int rows,
                            int cols, int count) {
  for (int i = 0; i < rows; i++) {
    for (int j = cols; j < width; j++) EACH a[i * width + j][l] = 0;
    for (int j = 0; j < cols; j++) {
      const char *at = p + i * row + j * col;
      T *const x = a[i * width + j];
      if (LANES > 1 && count < LANES) EACH x[l] = i == j;
      if (LANES > 1 && count == LANES) {
        EACH x[l] = *(const T *)(const void *)(at + l * next);
      } else {
        for (int l = 0; l < count; l++) {
          x[l] = *(const T *)(const void *)(at + l * next);
        }
      }
    }
  }
}

INLINE void NAME(load)(NAME(lanes) *a, const char *p, int64_t next,
                       int64_t row, int64_t col, int rows, int cols,
                       int count) {
  NAME(load_rows)(a, cols, p, next, row, col, rows, cols, count);
}

INLINE void NAME(store_rows)(NAME(lanes) *a, int width, char *p, int64_t next,
                             int64_t row, int64_t col, int rows, int cols,
                             int count) {
  for (int i = 0; i < rows; i++) {
    for (int j = 0; j < cols; j++) {
      char *at = p + i * row + j * col;
      const T *const x = a[i * width + j];
      if (LANES > 1 && count == LANES) {
        EACH *(T *)(void *)(at + l * next) = x[l];
      } else {
        for (int l = 0; l < count; l++) *(T *)(void *)(at + l * next) = x[l];
      }
    }
  }
}

INLINE void NAME(store)(NAME(lanes) *a, char *p, int64_t next, int64_t row,
                        int64_t col, int rows, int cols, int count) {
  NAME(store_rows)(a, cols, p, next, row, col, rows, cols, count);
}

/* An int32 for each of count matrices. */
INLINE void NAME(store_ints)(const I *x, char *p, int64_t next, int count) {
  for (int l = 0; l < count; l++) {
    *(int32_t *)(void *)(p + l * next) = (int32_t)x[l];
  }
}
