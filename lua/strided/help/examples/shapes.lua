--- Examples of st.help: shapes, indexing, products. The rows are explained in
-- strided.help.examples.
--
-- @module strided.help.examples.shapes

return [==[
-- Shapes
reshape:  st.reshape(t, {4})
  --> tensor([1, 2, 3, 4])
view:  t:view(4)
  --> tensor([1, 2, 3, 4])
permute:  st.permute(st.zeros {2, 3, 4}, {3, 1, 2}).shape
  --> {4, 2, 3}
transpose:  st.transpose(t, 1, 2)
  --> tensor([[1, 3],
              [2, 4]])
movedim:  st.movedim(st.zeros {2, 3, 4}, 1, 3).shape
  --> {3, 4, 2}
squeeze:  st.squeeze(st.zeros {1, 3, 1}).shape
  --> {3}
unsqueeze:  st.unsqueeze(t, 1).shape
  --> {1, 2, 2}
expand:  st.tensor {{1}, {2}}:expand(2, 3)
  --> tensor([[1, 1, 1],
              [2, 2, 2]])
flatten:  st.flatten(t)
  --> tensor([1, 2, 3, 4])
unflatten:  st.unflatten(st.arange(4), 1, {2, 2})
  --> tensor([[0, 1],
              [2, 3]])
cat:  st.cat({t, t}, 2)
  --> tensor([[1, 2, 1, 2],
              [3, 4, 3, 4]])
stack:  st.stack({st.tensor {1, 2}, st.tensor {3, 4}})
  --> tensor([[1, 2],
              [3, 4]])
hstack:  st.hstack {st.tensor {1}, st.tensor {2, 3}}
  --> tensor([1, 2, 3])
split:  st.split(st.arange(5), 3)[2]
  --> tensor([3, 4])
chunk:  st.chunk(st.arange(4), 2)[1]
  --> tensor([0, 1])
unbind:  st.unbind(t)[2]
  --> tensor([3, 4])
flip:  st.flip(t, {1})
  --> tensor([[3, 4],
              [1, 2]])
roll:  st.roll(st.arange(4), 1)
  --> tensor([3, 0, 1, 2])
rot90:  st.rot90(t)
  --> tensor([[2, 4],
              [1, 3]])
tile:  st.tile(st.tensor {1, 2}, {2})
  --> tensor([1, 2, 1, 2])
repeat_interleave:  st.repeat_interleave(st.tensor {1, 2}, 2)
  --> tensor([1, 1, 2, 2])
broadcast_to:  st.broadcast_to(st.tensor {1, 2}, {2, 2})
  --> tensor([[1, 2],
              [1, 2]])
meshgrid:  st.meshgrid({st.arange(2), st.arange(3)}, {indexing = "ij"})[1]
  --> tensor([[0, 0, 0],
              [1, 1, 1]])
diagonal:  st.diagonal(t)
  --> tensor([1, 4])
diag_embed:  st.diag_embed(st.tensor {1, 2})
  --> tensor([[1, 0],
              [0, 2]])
diag:  st.diag(st.tensor {1, 2})
  --> tensor([[1, 0],
              [0, 2]])
tril:  st.tril(t)
  --> tensor([[1, 0],
              [3, 4]])
triu:  st.triu(t)
  --> tensor([[1, 2],
              [0, 4]])
block_diag:  st.block_diag {t, st.tensor {{9}}}
  --> tensor([[1, 2, 0],
              [3, 4, 0],
              [0, 0, 9]])
cartesian_prod:  st.cartesian_prod {st.tensor {1, 2}, st.tensor {3, 4}}
  --> tensor([[1, 3],
              [1, 4],
              [2, 3],
              [2, 4]])
combinations:  st.combinations(st.tensor {1, 2, 3})
  --> tensor([[1, 2],
              [1, 3],
              [2, 3]])
-- Indexing
gather:  st.gather(t, 2, st.tensor {{2}, {1}})
  --> tensor([[2],
              [3]])
scatter:  st.zeros({3}):scatter(1, st.tensor {2}, 5)
  --> tensor([0., 5., 0.])
scatter_add:  st.zeros({2}):scatter_add(1, st.tensor {1, 1}, st.ones {2})
  --> tensor([2., 0.])
scatter_reduce:
  st.scatter_reduce(st.zeros {2}, 1, st.tensor {1, 1}, st.ones {2}, "sum")
  --> tensor([2., 0.])
index_select:  st.index_select(t, 1, st.tensor {2})
  --> tensor([[3, 4]])
index_add:  st.index_add(st.zeros {2}, 1, st.tensor {2}, st.ones {1})
  --> tensor([0., 1.])
index_fill:  st.index_fill(t, 1, st.tensor {1}, 0)
  --> tensor([[0, 0],
              [3, 4]])
index_copy:  st.index_copy(st.zeros {2}, 1, st.tensor {2}, st.ones {1})
  --> tensor([0., 1.])
masked_select:  st.masked_select(t, t:gt(2))
  --> tensor([3, 4])
masked_fill:  st.masked_fill(t, t:gt(2), 0)
  --> tensor([[1, 2],
              [0, 0]])
masked_scatter:  st.masked_scatter(t, t:gt(2), st.tensor {8, 9})
  --> tensor([[1, 2],
              [8, 9]])
take:  st.take(t, st.tensor {1, 4})
  --> tensor([1, 4])
take_along_dim:  st.take_along_dim(t, st.tensor {{2}, {1}}, 2)
  --> tensor([[2],
              [3]])
select:  st.select(t, 1, 2)
  --> tensor([3, 4])
narrow:  st.narrow(st.arange(5), 1, 2, 3)
  --> tensor([1, 2, 3])
nonzero:  st.nonzero(st.tensor {0, 5, 6})
  --> tensor([[2],
              [3]])
argwhere:  st.argwhere(st.tensor {0, 5, 6})
  --> tensor([[2],
              [3]])
sort:  st.sort(st.tensor {3, 1, 2})
  --> tensor([1, 2, 3])
      tensor([2, 3, 1])
argsort:  st.argsort(st.tensor {3, 1, 2})
  --> tensor([2, 3, 1])
topk:  st.topk(st.tensor {3, 1, 2}, 2)
  --> tensor([3, 2])
      tensor([1, 3])
kthvalue:  st.kthvalue(st.tensor {3, 1, 2}, 2)
  --> tensor(2)
      tensor(3)
digitize:  st.digitize(st.tensor {0.5, 1, 9}, st.tensor {1, 2})
  --> tensor([1, 2, 3])
intersect1d:  (st.intersect1d(st.tensor {3, 1, 3}, st.tensor {1, 2, 3}))
  --> tensor([1, 3])
setdiff1d:  st.setdiff1d(st.tensor {5, 3, 3, 1}, st.tensor {3})
  --> tensor([1, 5])
searchsorted:  st.searchsorted(st.tensor {1, 3, 5}, st.tensor {2, 5})
  --> tensor([2, 3])
bucketize:  st.bucketize(st.tensor {2, 5}, st.tensor {1, 3, 5})
  --> tensor([2, 3])
unique_consecutive:  (st.unique_consecutive(st.tensor {1, 1, 2, 1}))
  --> tensor([1, 2, 1])
isin:  st.isin(st.tensor {1, 2, 3}, st.tensor {2, 5})
  --> tensor([False,  True, False])
one_hot:  st.one_hot(st.tensor {1, 3}, 3)
  --> tensor([[1, 0, 0],
              [0, 0, 1]])
-- Products
matmul:  st.matmul(t, t)
  --> tensor([[ 7, 10],
              [15, 22]])
mm:  st.mm(t, t)
  --> tensor([[ 7, 10],
              [15, 22]])
bmm:  st.bmm(st.ones {2, 1, 3}, st.ones {2, 3, 1}).shape
  --> {2, 1, 1}
mv:  st.mv(t, st.tensor {1, 1})
  --> tensor([3, 7])
dot:  st.dot(st.tensor {1, 2}, st.tensor {3, 4})
  --> tensor(11)
outer:  st.outer(st.tensor {1, 2}, st.tensor {3, 4})
  --> tensor([[3, 4],
              [6, 8]])
inner:  st.inner(st.tensor {1, 2}, st.tensor {3, 4})
  --> tensor(11)
kron:  st.kron(st.tensor {1, 10}, st.tensor {1, 2})
  --> tensor([ 1,  2, 10, 20])
einsum:  st.einsum("ij,jk->ik", {t, t})
  --> tensor([[ 7, 10],
              [15, 22]])
tensordot:  st.tensordot(t, t, {1}, {1})
  --> tensor([[10, 14],
              [14, 20]])
addmm:  st.addmm(st.ones {2, 2}, st.eye(2), st.eye(2))
  --> tensor([[2., 1.],
              [1., 2.]])
baddbmm:  st.baddbmm(st.ones {1, 1}, st.ones {1, 1, 2}, st.ones {1, 2, 1})
  --> tensor([[[3.]]])
cdist:  st.cdist(st.zeros {1, 2}, st.tensor {{1.5, 2}})
  --> tensor([[2.5000]])
cross:  st.cross(st.tensor {1, 0, 0}, st.tensor {0, 1, 0}, 1)
  --> tensor([0, 0, 1])
]==]
