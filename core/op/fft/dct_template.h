/* Lines of cosine and sine transforms; included for each type by dct.c.
 *
 * T: the type of a number. TAG: the suffix of functions.
 */

#define NAME_(name, tag) name##_##tag
#define NAME2(name, tag) NAME_(name, tag)
#define NAME(name) NAME2(name, TAG)

/* -- Before the transform -------------------------------------------------- */

/* x, and its mirror image: 2 (n - 1) numbers, or 2 (n + 1) that are odd. */
static void NAME(extend)(const dct *d, const T *x, T *to) {
  const int64_t n = d->n, m = d->reals;
  const T first = (T)d->first;
  if (d->is_sine) to[0] = to[n + 1] = 0;
  for (int64_t i = 0; i < n; i++, x += d->in_step) {
    if (d->is_sine) {
      to[i + 1] = *x;
      to[m - 1 - i] = -*x;
    } else if (i == 0 || i == n - 1) {
      to[i] = *x * first;
    } else {
      to[i] = to[m - i] = *x;
    }
  }
}

/* Numbers with even indices, then those with odd ones in reverse. */
static void NAME(part)(const dct *d, const T *x, T *to) {
  const int64_t step = 2 * d->in_step, odd = d->n / 2, even = d->n - odd;
  const T sign = d->is_sine ? -1 : 1;
  for (int64_t i = 0; i < even; i++) to[i] = x[i * step];
  x += d->in_step;
  for (int64_t i = 0; i < odd; i++) to[d->n - 1 - i] = sign * x[i * step];
}

static void NAME(pair)(const dct *d, const T *x, T *to) {
  const int64_t n = d->n;
  const int64_t step = d->is_sine ? -d->in_step : d->in_step;
  const T *w = d->twist;
  if (d->is_sine) x += (n - 1) * d->in_step;
  to[0] = *x * (T)d->first;
  to[1] = 0;
  for (int64_t k = 1; k <= n / 2; k++) {
    const T a = x[k * step], b = x[(n - k) * step];
    const T c = w[2 * k], s = w[2 * k + 1];
    to[2 * k] = a * c + b * s;
    to[2 * k + 1] = a * s - b * c;
  }
}

static void NAME(turn)(const dct *d, const T *x, T *to) {
  const int64_t n = d->n, half = n / 2;
  const int64_t step = d->is_sine ? -d->in_step : d->in_step;
  const T *w = d->twist;
  if (d->is_sine) x += (n - 1) * d->in_step;
  if (n % 2 != 0) {
    for (int64_t i = 0; i < n; i++) {
      to[2 * i] = x[i * step] * w[2 * i];
      to[2 * i + 1] = -(x[i * step] * w[2 * i + 1]);
    }
    memset(to + 2 * n, 0, (size_t)(2 * n) * sizeof *to);
    return;
  }
  for (int64_t i = 0; i < half; i++) {
    const T a = x[2 * i * step], b = x[(n - 1 - 2 * i) * step];
    const T c = w[2 * i], s = w[2 * i + 1];
    to[2 * i] = a * c + b * s;
    to[2 * i + 1] = b * c - a * s;
  }
}

static void NAME(before)(void *ctx, int64_t begin, int64_t end) {
  const dct *d = ctx;
  for (int64_t k = begin; k < end; k++) {
    const T *const x = (const T *)st__data(d->self) +
                       line_at(d, d->self, d->begin + k);
    T *const reals = (T *)d->real_data + k * d->reals;
    T *const numbers = (T *)d->spectrum_data + 2 * k * d->numbers;
    if (!d->half_in && !d->half_out) NAME(extend)(d, x, reals);
    else if (!d->half_out) NAME(part)(d, x, reals);
    else if (!d->half_in) NAME(pair)(d, x, numbers);
    else NAME(turn)(d, x, numbers);
  }
}

/* -- Behind the transform -------------------------------------------------- */

static void NAME(take)(const dct *d, const T *from, T *y) {
  const int64_t n = d->n;
  for (int64_t k = 0; k < n; k++) {
    y[k * d->out_step] = d->is_sine ? -from[2 * k + 3] : from[2 * k];
  }
  if (d->is_sine) return;
  y[0] *= (T)d->last;
  y[(n - 1) * d->out_step] *= (T)d->last;
}

static void NAME(unpair)(const dct *d, const T *from, T *y) {
  const int64_t n = d->n;
  const int64_t step = d->is_sine ? -d->out_step : d->out_step;
  const T *w = d->twist;
  if (d->is_sine) y += (n - 1) * d->out_step;
  *y = from[0] * (T)d->last;
  for (int64_t k = 1; k <= n / 2; k++) {
    const T a = from[2 * k], b = from[2 * k + 1];
    const T c = w[2 * k], s = w[2 * k + 1];
    y[(n - k) * step] = a * s - b * c;
    y[k * step] = a * c + b * s;
  }
}

static void NAME(unpart)(const dct *d, const T *from, T *y) {
  const int64_t step = 2 * d->out_step, odd = d->n / 2, even = d->n - odd;
  const T sign = d->is_sine ? -1 : 1;
  for (int64_t i = 0; i < even; i++) y[i * step] = from[i];
  y += d->out_step;
  for (int64_t i = 0; i < odd; i++) y[i * step] = sign * from[d->n - 1 - i];
}

static void NAME(unturn)(const dct *d, const T *from, T *y) {
  const int64_t n = d->n, step = d->out_step, half = n / 2;
  const T *w = d->twist;
  if (n % 2 != 0) {
    w += 2 * n;
    for (int64_t k = 0; k < n; k++) {
      const T sum = from[2 * k] * w[2 * k] + from[2 * k + 1] * w[2 * k + 1];
      y[k * step] = d->is_sine && k % 2 != 0 ? -sum : sum;
    }
    return;
  }
  w += n;
  for (int64_t i = 0; i < half; i++) {
    const T a = from[2 * i], b = from[2 * i + 1];
    const T c = w[2 * i], s = w[2 * i + 1];
    y[2 * i * step] = a * c + b * s;
    y[(n - 1 - 2 * i) * step] = d->is_sine ? b * c - a * s : a * s - b * c;
  }
}

static void NAME(behind)(void *ctx, int64_t begin, int64_t end) {
  const dct *d = ctx;
  for (int64_t k = begin; k < end; k++) {
    T *const y = (T *)st__data(d->out) + line_at(d, d->out, d->begin + k);
    const T *const reals = (T *)d->real_data + k * d->reals;
    const T *const numbers = (T *)d->spectrum_data + 2 * k * d->numbers;
    if (!d->half_in && !d->half_out) NAME(take)(d, numbers, y);
    else if (!d->half_out) NAME(unpair)(d, numbers, y);
    else if (!d->half_in) NAME(unpart)(d, reals, y);
    else NAME(unturn)(d, numbers, y);
  }
}

#undef T
#undef TAG
#undef NAME_
#undef NAME2
#undef NAME
