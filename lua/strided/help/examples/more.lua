--- Examples of st.help: further operators. The rows are explained in
-- strided.help.examples.
--
-- @module strided.help.examples.more

return [==[
-- Elements
acos: st.acos(st.tensor {1, -1})
  --> tensor([0.0000, 3.1416])
acosh: st.acosh(st.tensor {1})
  --> tensor([0.])
asin: st.asin(st.tensor {0, 1})
  --> tensor([0.0000, 1.5708])
asinh: st.asinh(st.tensor {0})
  --> tensor([0.])
atan: st.atan(st.tensor {0, 1})
  --> tensor([0.0000, 0.7854])
atanh: st.atanh(st.tensor {0})
  --> tensor([0.])
cosh: st.cosh(st.tensor {0})
  --> tensor([1.])
cbrt: st.cbrt(st.tensor {8, 27})
  --> tensor([2., 3.])
exp2: st.exp2(t)
  --> tensor([[ 2.,  4.],
              [ 8., 16.]])
ldexp: st.ldexp(st.tensor {1.5}, st.tensor {2})
  --> tensor([6.])
frexp: st.frexp(st.tensor {8.0, 3.0}:float())
  --> tensor([0.5000, 0.7500])
      tensor([4, 2], dtype=int32)
float_power: st.float_power(t, 2)
  --> tensor([[ 1.,  4.],
              [ 9., 16.]], dtype=float64)
fmax: st.fmax(st.tensor {0 / 0, 1.5}, st.tensor {2.5, 0.5})
  --> tensor([2.5000, 1.5000])
fmin: st.fmin(st.tensor {0 / 0, 1.5}, st.tensor {2.5, 0.5})
  --> tensor([2.5000, 0.5000])
copysign: st.copysign(st.tensor {1.5, 2.5}, st.tensor {-1, 1})
  --> tensor([-1.5000,  2.5000])
heaviside: st.heaviside(st.tensor {-1.5, 0, 2}, st.tensor {0.5})
  --> tensor([0.0000, 0.5000, 1.0000])
clamp_min: st.clamp_min(t, 3)
  --> tensor([[3, 3],
              [3, 4]])
clamp_max: st.clamp_max(t, 2)
  --> tensor([[1, 2],
              [2, 2]])
addcmul: st.addcmul(t, t, t, {value = 10})
  --> tensor([[ 11,  42],
              [ 93, 164]])
addcdiv: st.addcdiv(t:float(), t:float(), st.tensor {2})
  --> tensor([[1.5000, 3.0000],
              [4.5000, 6.0000]])
bitwise_not: st.bitwise_not(st.tensor {0, 5})
  --> tensor([-1, -6])
bitwise_left_shift: st.bitwise_left_shift(st.tensor {1, 3}, 2)
  --> tensor([ 4, 12])
bitwise_right_shift: st.bitwise_right_shift(st.tensor {4, 12}, 2)
  --> tensor([1, 3])
logical_or: st.logical_or(st.tensor {0, 1}, st.tensor {0, 0})
  --> tensor([False,  True])
logical_xor: st.logical_xor(st.tensor {0, 1}, st.tensor {1, 1})
  --> tensor([ True, False])
isinf: st.isinf(st.tensor {1, 1 / 0})
  --> tensor([False,  True])
isposinf: st.isposinf(st.tensor {1 / 0, -1 / 0})
  --> tensor([ True, False])
isneginf: st.isneginf(st.tensor {1 / 0, -1 / 0})
  --> tensor([False,  True])
isreal: st.isreal(st.tensor {1, 2})
  --> tensor([True, True])
hardshrink: st.hardshrink(st.tensor {0.25, 1.5})
  --> tensor([0.0000, 1.5000])
hardsigmoid: st.hardsigmoid(st.tensor {-3, 0, 3}:float())
  --> tensor([0.0000, 0.5000, 1.0000])
hardswish: st.hardswish(st.tensor {0, 3}:float())
  --> tensor([0., 3.])
logaddexp: st.logaddexp(st.tensor {0.0}:float(), st.tensor {0.0}:float())
  --> tensor([0.6931])
mvlgamma: st.mvlgamma(st.tensor {1.0}:float(), 1)
  --> tensor([0.])
nextafter: st.nextafter(st.tensor {1.5}, st.tensor {2}) - 1.5 == 0
  --> false

-- Reductions and sorting
nansum: st.nansum(st.tensor {1, 0 / 0, 2})
  --> tensor(3.)
nanmean: st.nanmean(st.tensor {1, 0 / 0, 3})
  --> tensor(2.)
nanmax: st.nanmax(st.tensor {1, 0 / 0, 3})
  --> tensor(3.)
nanmin: st.nanmin(st.tensor {1, 0 / 0, 3})
  --> tensor(1.)
nanprod: st.nanprod(st.tensor {2, 0 / 0, 3})
  --> tensor(6.)
nancumsum: st.nancumsum(st.tensor {1, 0 / 0, 3}, 1)
  --> tensor([1., 1., 4.])
nancumprod: st.nancumprod(st.tensor {2, 0 / 0, 3}, 1)
  --> tensor([2., 2., 6.])
nanargmax: st.nanargmax(st.tensor {1, 0 / 0, 3})
  --> tensor(3)
nanargmin: st.nanargmin(st.tensor {1, 0 / 0, 3})
  --> tensor(1)
cummin: st.cummin(st.tensor {3, 1, 2}, 1)
  --> tensor([3, 1, 1])
      tensor([1, 2, 2])
dist: st.dist(st.tensor {0, 0}:float(), st.tensor {3, 4}:float())
  --> tensor(5.)
msort: st.msort(st.tensor {3, 1, 2})
  --> tensor([1, 2, 3])
std_mean: st.std_mean(st.tensor {1, 3}:float(), {correction = 0})
  --> tensor(1.)
      tensor(2.)
var_mean: st.var_mean(st.tensor {1, 3}:float())
  --> tensor(2.)
      tensor(2.)
flatnonzero: st.flatnonzero(st.tensor {0, 5, 7})
  --> tensor([2, 3])

-- Shapes
atleast_1d: st.atleast_1d(st.tensor(5))
  --> tensor([5])
atleast_2d: st.atleast_2d(st.tensor {1, 2})
  --> tensor([[1, 2]])
atleast_3d: st.atleast_3d(t).shape
  --> {2, 2, 1}
as_strided: st.as_strided(t, {3}, {1})
  --> tensor([1, 2, 3])
broadcast_tensors: st.broadcast_tensors({st.tensor {1, 2}, st.tensor {{3}}})[2]
  --> tensor([[3, 3]])
column_stack: st.column_stack({st.tensor {1, 2}, st.tensor {3, 4}})
  --> tensor([[1, 3],
              [2, 4]])
dstack: st.dstack({t, t}).shape
  --> {2, 2, 2}
diagflat: st.diagflat(st.tensor {1, 2})
  --> tensor([[1, 0],
              [0, 2]])
expand_as: st.expand_as(st.tensor {5, 6}, t)
  --> tensor([[5, 6],
              [5, 6]])
fliplr: st.fliplr(t)
  --> tensor([[2, 1],
              [4, 3]])
flipud: st.flipud(t)
  --> tensor([[3, 4],
              [1, 2]])
hsplit: st.hsplit(t, 2)[2]
  --> tensor([[2],
              [4]])
vsplit: st.vsplit(t, 2)[2]
  --> tensor([[3, 4]])
dsplit: st.dsplit(st.ones(1, 1, 4), 2)[1].shape
  --> {1, 1, 2}
mT: t:mT()
  --> tensor([[1, 3],
              [2, 4]])
moveaxis: st.moveaxis(st.ones(2, 3, 4), 1, 3).shape
  --> {3, 4, 2}
contiguous: t:t():contiguous():stride()
  --> {2, 1}
detach: t:detach()
  --> tensor([[1, 2],
              [3, 4]])
item: t[{2, 1}]:item()
  --> 3
is_nonzero: st.tensor(1):is_nonzero()
  --> true
is_same_size: st.is_same_size(t, t:t())
  --> true
fill: st.fill(t, 7)
  --> tensor([[7, 7],
              [7, 7]])
fill_diagonal_: t:clone():fill_diagonal_(0)
  --> tensor([[0, 2],
              [3, 0]])
copy_: st.zeros(2, 2):copy_(t)
  --> tensor([[1., 2.],
              [3., 4.]])
select_scatter: st.select_scatter(t, st.tensor {8, 9}, 1, 1)
  --> tensor([[8, 9],
              [3, 4]])
diagonal_scatter: st.diagonal_scatter(t, st.tensor {8, 9})
  --> tensor([[8, 2],
              [3, 9]])
index_put: st.index_put(t, {st.tensor {1}, st.tensor {2}}, st.tensor(9))
  --> tensor([[1, 9],
              [3, 4]])

-- Products, statistics, others
adjoint: t:adjoint()
  --> tensor([[1, 3],
              [2, 4]])
imag: st.imag(st.complex(st.tensor {1.5}, st.tensor {2.5}))
  --> tensor([2.5000])
conj: st.conj(st.complex(st.tensor {1.0}:float(), st.tensor {2.0}:float()))
  --> tensor([1.-2.j])
addmv: st.addmv(st.tensor {10, 20}, t, st.tensor {1, 1})
  --> tensor([13, 27])
addr: st.addr(t, st.tensor {1, 2}, st.tensor {3, 4})
  --> tensor([[ 4,  6],
              [ 9, 12]])
vdot: st.vdot(st.tensor {1, 2}, st.tensor {3, 4})
  --> tensor(11)
chain_matmul: st.chain_matmul({t:float(), st.eye(2)})
  --> tensor([[1., 2.],
              [3., 4.]])
histogram: st.histogram(st.tensor {0, 1, 1, 2}:float(), 2)
  --> tensor([1., 3.])
      tensor([0., 1., 2.])
interp: st.interp(st.tensor {1.5}, st.tensor {1, 2.0}, st.tensor {10, 20.0})
  --> tensor([15.])
polyval: st.polyval(st.tensor {1, 0, 1}, st.tensor {3})
  --> tensor([10])
cumulative_trapezoid: st.cumulative_trapezoid(st.tensor {1, 2, 3}:float())
  --> tensor([1.5000, 4.0000])
can_cast: st.can_cast("float32", "int64")
  --> false
huber_loss: st.huber_loss(st.tensor {3.0}:float(), st.tensor {0.0}:float())
  --> tensor(2.5000)
glu: st.glu(st.tensor {4, 0}:float())
  --> tensor([2.])
]==]
