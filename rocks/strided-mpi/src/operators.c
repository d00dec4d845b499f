/* The namespace `mpi`: registers the rows of the other files.
 *
 * Kernels run on the CPU and, for shapes, on Meta. On other devices they refuse.
 * Otherwise a device's fallback might run an operator on copies, and copy the
 * result of an asynchronous one back before it is there.
 */

#include <string.h>

#include "stmpi.h"

const stmpi_operator *const stmpi_lists[STMPI_LISTS] = {
  stmpi_composites, stmpi_gradients, stmpi_collectives, stmpi_messages,
  stmpi_parts,
};
static const char *const others[] = {"PrivateUse1", "PrivateUse2",
                                     "PrivateUse3"};
enum { NAME = 64 };

static void name_of(const stmpi_operator *row, char name[NAME]) {
  const size_t n = strcspn(row->schema, "(");
  memcpy(name, row->schema, n);
  name[n] = 0;
}

static st_status refuse(const st_call *call, const st_value *args,
                        st_value *rets) {
  const int n = st_schema_nargs(call->schema);
  (void)rets;
  for (int i = 0; i < n; i++) {
    if (args[i].tag != ST_TAG_TENSOR) continue;
    const st_device device = st_tensor_device(args[i].u.tensor);
    if (device == ST_DEVICE_CPU) continue;
    return st_fail(ST_BAD_VALUE, "%s is on the device '%s'; MPI sends tensors "
                   "of the CPU", st_schema_arg(call->schema, i)->name,
                   st_device_name(device));
  }
  return st_fail(ST_BAD_VALUE, "MPI sends tensors of the CPU");
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
  TRY(st_library_implement(lib, name, "Meta", &kernel));
  for (int i = 0; i < 3; i++) {
    const st_kernel no = {.fn = refuse, .debug = "strided_mpi"};
    TRY(st_library_implement(lib, name, others[i], &no));
  }
  return ST_OK;
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
  for (int i = 0; i < STMPI_LISTS; i++) {
    for (const stmpi_operator *row = stmpi_lists[i]; row->schema; row++) {
      const bool has_tensor = strstr(row->schema, "Tensor") != NULL;
      TRY(define(lib, row, stmpi_lists[i] == stmpi_composites || !has_tensor));
    }
  }
  for (int i = 0; i < STMPI_LISTS; i++) {
    for (const stmpi_operator *row = stmpi_lists[i]; row->schema; row++) {
      TRY(derive(lib, row));
    }
  }
  return ST_OK;
}
