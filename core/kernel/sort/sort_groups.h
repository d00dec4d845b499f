/* Sorting groups of short lines by networks (Note [Sorting networks]). Part of
 * sort.c.
 */

/* Lines side by side, and their words (Note [Sorting networks]): key =
 * (word >> shift) + least, at = index & mask. */
typedef struct group {
  line first;
  int64_t across[3]; /* from line to line, of the three operands */
  int64_t lines, lanes;
  uint64_t *word, *index; /* index is word if it has the indices, too */
  uint64_t least, mask;
  int shift;
} group;

#define WORD_pair32(key, i) ((uint64_t)(key) << 32 | (uint64_t)(i))
#define WORD_pair64(key, i) (key)

static void index_words_pair32(group *g) {
  g->index = g->word;
  g->shift = 32;
  g->mask = 0xffffffffu;
}

/* Keys in a small range leave room for the index, of at most 256. */
static void index_words_pair64(group *g) {
  const int64_t n = g->first.n * g->lanes;
  uint64_t least = (uint64_t)-1, most = 0;
  for (int64_t i = 0; i < n; i++) {
    const uint64_t k = g->word[i];
    least = k < least ? k : least;
    most = k > most ? k : most;
  }
  if ((most - least) >> 56 == 0) {
    for (int64_t i = 0; i < g->first.n; i++) {
      uint64_t *word = g->word + i * g->lanes;
      for (int64_t l = 0; l < g->lanes; l++) {
        word[l] = (word[l] - least) << 8 | (uint64_t)i;
      }
    }
    g->index = g->word;
    g->least = least;
    g->shift = 8;
    g->mask = 0xff;
    return;
  }
  g->index = g->word + n;
  g->mask = (uint64_t)-1;
  for (int64_t i = 0; i < g->first.n; i++) {
    uint64_t *at = g->index + i * g->lanes;
    for (int64_t l = 0; l < g->lanes; l++) at[l] = (uint64_t)i;
  }
}

#define PUT_PLACE(T)                                                        \
  static void put_place_##T(const group *g, char *to, const uint64_t *at) { \
    const int64_t step = g->first.step[2];                                  \
    for (int64_t l = 0; l < g->lines; l++)                                  \
      *(T *)(to + l * g->across[0]) =                                       \
        *(const T *)(g->first.in + l * g->across[2] +                       \
                     (int64_t)(at[l] & g->mask) * step); }

PUT_PLACE(uint8_t)
PUT_PLACE(uint16_t)
PUT_PLACE(uint32_t)
PUT_PLACE(uint64_t)

/* Writes o->k elements of all lines, and their indices. */
static void put_group(const group *g, const st_sort *o) {
  const line *w = &g->first;
  for (int64_t i = 0; i < o->k; i++) {
    const uint64_t *at = g->index + (o->first + i) * g->lanes;
    char *to = w->values ? w->values + i * w->step[0] : NULL;
    if (to) {
      switch (w->size) {
        case 1: put_place_uint8_t(g, to, at); break;
        case 2: put_place_uint16_t(g, to, at); break;
        case 4: put_place_uint32_t(g, to, at); break;
        default: put_place_uint64_t(g, to, at);
      }
    }
    to = w->indices ? w->indices + i * w->step[1] : NULL;
    for (int64_t l = 0; to && l < g->lines; l++) {
      *(int64_t *)(to + l * g->across[1]) =
        (int64_t)(at[l] & g->mask) + o->base;
    }
  }
}
