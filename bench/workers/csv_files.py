"""Reads or writes a CSV file as NumPy and pandas do, for bench/csv.lua.

    csv_files.py read loadtxt|genfromtxt|pandas PATH
    csv_files.py write savetxt|pandas PATH OUT

Prints the seconds, and the sum of the numbers that were read or the number of
bytes that were written.
"""
import os
import sys
import time

import numpy

what, how, path = sys.argv[1:4]


def read():
    if how == "pandas":
        import pandas
        with open(path, "rb") as file:
            has_names = file.read(2) == b"id"
        start = time.perf_counter()
        table = pandas.read_csv(path, header=0 if has_names else None)
        return table, time.perf_counter() - start
    start = time.perf_counter()
    table = getattr(numpy, how)(path, delimiter=",")
    return table, time.perf_counter() - start


if what == "read":
    table, seconds = read()
    if how == "pandas":
        table = table.select_dtypes("number").to_numpy()
    print(seconds, repr(float(numpy.sum(table, dtype="float64"))))
else:
    import pandas
    out = sys.argv[4]
    with open(path, "rb") as file:
        has_names = file.read(2) == b"id"
    table = pandas.read_csv(path, header=0 if has_names else None)
    if how == "savetxt":
        table = table.to_numpy()
        fmt = "%d" if table.dtype.kind == "i" else "%.17g"
        start = time.perf_counter()
        numpy.savetxt(out, table, delimiter=",", fmt=fmt)
    else:
        start = time.perf_counter()
        table.to_csv(out, index=False, header=has_names)
    print(time.perf_counter() - start, os.path.getsize(out))
