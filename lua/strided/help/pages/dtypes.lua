--- The page of st.help on this topic: strided.help.pages.
--
-- @module strided.help.pages.dtypes

return [=[
dtypes: types of elements

A dtype is its name, a string: bool; uint8, uint16, uint32, uint64; int8,
int16, int32, int64; float16, bfloat16, float32, float64; complex32,
complex64, complex128; to store bcomplex32, float8_e4m3fn, float8_e4m3fnuz,
float8_e5m2, float8_e5m2fnuz, float8_e8m0fnu, float4_e2m1fn_x2, and int4,
uint4, int2, uint2, which have several numbers in a byte.

  > t = st.tensor {1, 2}
  > t.dtype, t.dtype == "int64"
  int64	true

Numbers without a fraction make int64, as 1.0 is 1 in Lua; others make the
default dtype, float32. st.float(1) and the option dtype say otherwise.

  > st.tensor({2.5}).dtype, st.tensor({2}, {dtype = "float64"})
  float32	tensor([2.], dtype=float64)

Conversions: t:to(dtype), or the short t:float(), t:double(), t:int(), ...

  > t:to "float32", t:double().dtype
  tensor([1., 2.])	float64

Operators promote: a float wins over an integer, a tensor with dimensions
over one without, and a Lua number changes an integer tensor only if it has a
fraction.

  > (t + st.ones(2, {dtype = "float16"})).dtype
  float16
  > (t + 1.5).dtype, (t + 1).dtype
  float32	int64

Sums of integers are int64; division of integers gives floats.

  > st.tensor({200, 100}, {dtype = "uint8"}):sum()
  tensor(300)

Limits: ?iinfo, ?finfo. See also ?set_default_dtype, ?can_cast, ?dtype_info.
Types for editors: require("strided.types").write "types" writes annotations
for Lua language servers into a folder.]=]
