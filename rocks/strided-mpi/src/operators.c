/* The namespace `mpi`: registers the rows of the other files.
 *
 * Kernels run on the CPU and, for shapes, on Meta. On another device there is
 * none, and the dispatcher says so.
 */

#include <string.h>

#include "stmpi.h"

static const stmpi_operator *const lists[] = {
  stmpi_composites, stmpi_gradients, stmpi_collectives, stmpi_messages,
  stmpi_parts,
};
enum { LISTS = sizeof lists / sizeof *lists, NAME = 64 };

static void name_of(const stmpi_operator *row, char name[NAME]) {
  const size_t n = strcspn(row->schema, "(");
  memcpy(name, row->schema, n);
  name[n] = 0;
}

static st_status define(st_library *lib, const stmpi_operator *row,
                        bool is_composite) {
  const st_kernel kernel = {.fn = row->fn, .ctx = (void *)(uintptr_t)row,
                            .debug = "strided_mpi"};
  char name[NAME];
  name_of(row, name);
  TRY(st_library_define(lib, row->schema, row->doc, 0, "strided_mpi"));
  if (is_composite) return st_library_implement(lib, name, NULL, &kernel);
  TRY(st_library_implement(lib, name, "CPU", &kernel));
  return st_library_implement(lib, name, "Meta", &kernel);
}

/* After all are defined: a formula calls other operators of the namespace. */
static st_status derive(st_library *lib, const stmpi_operator *row) {
  char name[NAME];
  if (!row->derivative) return ST_OK;
  name_of(row, name);
  return st_library_derive(lib, name, 1, &row->derivative);
}

/* The library is kept for the life of the process. */
st_status stmpi_register(void) {
  static st_library *lib;
  TRY(stmpi_tensors_init());
  TRY(st_library_open("mpi", ST_LIBRARY_DEF, NULL, 0, "strided_mpi", &lib));
  for (int i = 0; i < LISTS; i++) {
    for (const stmpi_operator *row = lists[i]; row->schema; row++) {
      const bool has_tensor = strstr(row->schema, "Tensor") != NULL;
      TRY(define(lib, row, lists[i] == stmpi_composites || !has_tensor));
    }
  }
  for (int i = 0; i < LISTS; i++) {
    for (const stmpi_operator *row = lists[i]; row->schema; row++) {
      TRY(derive(lib, row));
    }
  }
  return ST_OK;
}
