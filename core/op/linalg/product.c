/* Parts of matrix products for the threads of the engine.
 */

#include "op/linalg/product.h"

#include "base/threads.h"

/* Rows and columns of a part are multiples of what a kernel takes at once. */
enum { ROWS = 24, COLUMNS = 32, SYMMETRIC = 2 * ROWS };

st_matrix st__matrix_of(const st_tensor *t) {
  const int64_t *size = t->sizes + t->ndim - 2;
  const int64_t *stride = t->strides + t->ndim - 2;
  return (st_matrix){st__data(t), size[0], size[1], stride[0], stride[1],
                     t->ndim == 3 ? t->strides[0] : 0};
}

int64_t st__product_volume(const st_product *p) {
  const int64_t most = INT64_C(1) << 62;
  int64_t n;
  if (!st__mul_sizes(p->c.rows, p->c.cols, &n) ||
      !st__mul_sizes(n, p->a.cols, &n)) {
    return most;
  }
  return n < most ? n : most;
}

void st__transpose_product(st_product *p) {
  const st_matrix a = p->a, b = p->b, c = p->c;
  p->a = (st_matrix){b.data, b.cols, b.rows, b.col, b.row, b.batch};
  p->b = (st_matrix){a.data, a.cols, a.rows, a.col, a.row, a.batch};
  p->c = (st_matrix){c.data, c.cols, c.rows, c.col, c.row, c.batch};
}

static int64_t div_up(int64_t n, int64_t by) { return n / by + (n % by != 0); }

/* Of the counts of parts up to `each` per thread, the least one that leaves the
 * busiest thread the least. */
void st__split_product(st_product *p, int each, int64_t volume) {
  const int64_t threads = st__in_parallel() ? 1 : st__num_threads();
  const int64_t most = st__product_volume(p) / volume;
  const int64_t wanted = threads > 1 ? div_up(each * threads, p->batch) : 1;
  p->by_rows = p->c.rows > p->c.cols;
  const int64_t side = p->by_rows ? p->c.rows : p->c.cols;
  const int64_t step = p->by_rows ? ROWS : COLUMNS;
  int64_t least = div_up(p->batch, threads) * side;
  p->parts = 1;
  for (int64_t n = 2; n <= wanted && n <= most; n++) {
    const int64_t part = div_up(div_up(side, n), step) * step;
    const int64_t parts = div_up(side, part);
    const int64_t busiest = div_up(p->batch * parts, threads) * part;
    if (busiest >= least) continue;
    least = busiest;
    p->part = part;
    p->parts = parts;
  }
}

/* Parts with few rows read b more often, those with many compute more below the
 * diagonal. */
void st__split_symmetric(st_product *p) {
  p->by_rows = true;
  p->part = SYMMETRIC;
  p->parts = div_up(p->c.rows, p->part);
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* The i-th part to be computed. Of a symmetric c, long ones and short ones take
 * turns, since threads share them in order. */
static int64_t order_of(const st_product *p, int64_t i) {
  if (!p->is_symmetric) return i;
  return i % 2 != 0 ? p->parts - (i + 1) / 2 : i / 2;
}

const st_product *st__part_of_product(const st_product *p, int64_t i,
                                      st_product *part) {
  if (p->batch == 1 && p->parts == 1) return p;
  const int64_t size = (int64_t)st__itemsize(p->dtype);
  const int64_t batch = p->parts == 1 ? i : i / p->parts;
  const int64_t at = order_of(p, i - batch * p->parts) * p->part;
  *part = *p;
  part->a.data += batch * p->a.batch * size;
  part->b.data += batch * p->b.batch * size;
  part->c.data += batch * p->c.batch * size;
  if (p->parts == 1) return part;
  if (p->by_rows) {
    part->a.rows = part->c.rows = least(p->c.rows - at, p->part);
    part->a.data += at * p->a.row * size;
    part->c.data += at * p->c.row * size;
    if (p->is_symmetric) {
      part->b.cols = part->c.cols = p->c.cols - at;
      part->b.data += at * p->b.col * size;
      part->c.data += at * p->c.col * size;
    }
  } else {
    part->b.cols = part->c.cols = least(p->c.cols - at, p->part);
    part->b.data += at * p->b.col * size;
    part->c.data += at * p->c.col * size;
    if (p->row) part->row += at * size;
  }
  return part;
}
