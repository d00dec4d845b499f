--- The page of st.help on this topic: strided.help.pages.
--
-- @module strided.help.pages.errors

return [=[
errors: what they say, and how to find the cause

An error is a string: the line of your program, the operator, the argument,
and the shapes or dtypes that do not fit.

  > st.ones(2, 3):matmul(st.ones(2, 3))
  input:1: matmul: shapes [2, 3] and [2, 3] cannot be multiplied
  > st.ones(2, 3):view(4)
  input:1: view: shape [4] is not a shape of 6 elements
  > st.ones(2):sum(3)
  input:1: sum: dimension 3 is out of range for 1 dimensions (1 to 1, or -1 to
    -1)
  > st.ones(2):softmaxx()
  input:1: a tensor has no 'softmaxx': did you mean softmax, softmin?

pcall catches it, as any error in Lua.

  > ok, why = pcall(st.tensor, {{1, 2}, {3}})
  > ok
  false
  > why
  input:1: tensor: the table at [2] has 1 elements where others have 2

A failed call has changed none of its arguments. For a call in a network:

  st.detect_anomaly(fn)     where a gradient became NaN
  st.trace(fn, ...)         the operators that ran, with their kernels
  st.explain(op, ...)       what an operator does with such arguments
  st.layout(t)              how a tensor lies in memory

In a session Ctrl-C stops what runs; the traceback has your lines only.]=]
