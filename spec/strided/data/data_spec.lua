--- Datasets, samplers, loaders and transforms. The orders of seeds were written
-- out by PyTorch 2.15, whose samples count from 0.
-- axes: lua

local collect = require "spec.support.collect"
local raises = require("spec.support.tensors").raises
local st = require "strided"

local data = st.data

--- The values that an iterator returns, as lists; a tensor as a table.
local function all(iter)
  local list = {}
  for a, b in iter do
    local function plain(v) return st.is_tensor(v) and v:totable() or v end
    list[#list + 1] = b == nil and plain(a) or {plain(a), plain(b)}
  end
  return list
end

local function plus_one(list)
  for i, x in ipairs(list) do
    list[i] = type(x) == "table" and plus_one(x) or x + 1
  end
  return list
end

describe("A dataset", function()
  local x, y
  before_each(function()
    x, y = st.arange(1, 13):view(6, 2), st.arange(10, 16)
  end)

  it("of tensors has their rows", function()
    local d = data.TensorDataset(x, y)
    assert.equal(6, d:size())
    local a, b = d:get(2)
    assert.same({3, 4}, a:totable())
    assert.equal(11, b:item())
    a, b = d:batch {6, 1}
    assert.same({{11, 12}, {1, 2}}, a:totable())
    assert.same({15, 10}, b:totable())
    assert.equal("TensorDataset of 6 samples", tostring(d))
  end)

  it("of tensors by name has tables", function()
    local d = data.TensorDataset {picture = x, label = y}
    assert.same({5, 6}, d:get(3).picture:totable())
    assert.same({12, 10}, d:batch({3, 1}).label:totable())
    assert.same({}, d:get(1).label.shape)
  end)

  it("may be a list, a tensor or a function", function()
    assert.same({{"a", "b"}, {"c"}},
                all(data.DataLoader({"a", "b", "c"}, {batch_size = 2}):iter()))
    assert.same({{10, 11, 12, 13}, {14, 15}},
                all(data.DataLoader(y, {batch_size = 4}):iter()))
    local squares = data.FunctionDataset(3, function(i) return i * i end)
    assert.same({{1, 4, 9}},
                all(data.DataLoader(squares, {batch_size = 3}):iter()))
  end)

  it("can be mapped, joined and cut", function()
    local d = data.TensorDataset(x, y):map(function(a, b)
      return a:sum(), b:to "uint8"
    end)
    local _, label = data.DataLoader(d, {batch_size = 2}):iter()()
    assert.equal("uint8", tostring(label.dtype))
    local part = data.Subset(data.ConcatDataset {d, d}, {12, 1, 7})
    assert.equal(3, part:size())
    assert.same({{{23, 3, 3}, {15, 10, 10}}},
                all(data.DataLoader(part, {batch_size = 9}):iter()))
    local rows = data.Subset(data.TensorDataset(x, y), st.tensor {6, 2})
    assert.same({{{{11, 12}, {3, 4}}, {15, 11}}},
                all(data.DataLoader(rows, {batch_size = 2}):iter()))
  end)

  it("may be a class of the user", function()
    local Own = data.Dataset:extend "Own"
    function Own:init(n) self.n = n end
    function Own:size() return self.n end
    function Own.get(_, i) return {at = i, name = "s" .. i} end
    local batch = data.DataLoader(Own(2), {batch_size = 2}):iter()()
    assert.same({1, 2}, batch.at:totable())
    assert.same({"s1", "s2"}, batch.name)
  end)

  it("refuses what it does not have", function()
    local d = data.TensorDataset(x, y)
    for _, i in ipairs {0, 7, 1.5, -1} do
      raises({"TensorDataset: there is no sample", "the dataset has 6"},
             d.get, d, i)
    end
    raises({"TensorDataset: argument 2 has 5 rows where others have 6"},
           data.TensorDataset, x, st.ones(5))
    raises({"TensorDataset: argument 1 must be a Tensor, got string"},
           data.TensorDataset, "x")
    raises({"Subset: there is no sample"}, data.Subset, {1, 2}, {3})
    raises({"DataLoader: a dataset must be a Tensor"}, data.DataLoader, 5)
    local Empty = data.Dataset:extend "Empty"
    raises({"Empty has no method 'size'"}, function() Empty():size() end)
  end)
end)

describe("The order of a seed is PyTorch's", function()
  local ten = st.arange(0, 10)

  it("for a loader", function()
    st.manual_seed(3)
    assert.same({{6, 2, 0, 1}, {8, 3, 5, 4}, {7, 9}},
                all(data.DataLoader(ten, {batch_size = 4, shuffle = true})
                    :iter()))
    local loader = data.DataLoader(ten, {
      batch_size = 3, shuffle = true, drop_last = true,
      generator = st.Generator(7)})
    assert.equal(3, loader:size())
    assert.same({{1, 3, 5}, {7, 9, 4}, {6, 2, 8}}, all(loader:iter()))
    assert.same({{5, 1, 6}, {0, 9, 7}, {8, 4, 3}}, all(loader:iter()))
  end)

  it("for a split", function()
    st.manual_seed(3)
    local a, b = data.random_split(ten, {3, 7})
    assert.same(plus_one {6, 0, 3}, a.indices)
    assert.same(plus_one {7, 8, 5, 1, 9, 2, 4}, b.indices)
    local c, d, e = data.random_split(st.arange(11), {0.5, 0.3, 0.2})
    assert.same(plus_one {{8, 5, 2, 4, 10, 1}, {3, 6, 0}, {9, 7}},
                {c.indices, d.indices, e.indices})
    raises({"random_split: the lengths add up to 9"}, data.random_split, ten,
           {4, 5})
  end)

  it("for samplers", function()
    local five = st.arange(5)
    st.manual_seed(3)
    assert.same(plus_one {2, 3, 0, 1, 3, 1, 2, 2, 3, 4, 3, 1, 2, 0, 0, 4, 2, 0,
                          3, 4, 1, 3, 0, 1, 3, 1, 2, 4, 2, 1, 1, 0, 3, 3, 2},
                all(data.RandomSampler(five, {replacement = true,
                                              num_samples = 35}):iter()))
    assert.same(plus_one {1, 4, 3, 0, 2, 2, 3, 4, 1, 0, 2, 4},
                all(data.RandomSampler(five, {num_samples = 12}):iter()))
    st.manual_seed(3)
    local weights = {.1, .9, .4, .7}
    assert.same(plus_one {0, 1, 3, 1, 3, 2},
                all(data.WeightedRandomSampler(weights, 6):iter()))
    assert.same(plus_one {1, 2, 3},
                all(data.WeightedRandomSampler(weights, 3,
                                               {replacement = false}):iter()))
    assert.same({5, 11, 7, 9},
                all(data.SubsetRandomSampler({5, 7, 9, 11}):iter()))
    assert.same({{1, 2}, {3, 4}, {5}},
                all(data.BatchSampler(data.SequentialSampler(five), 2):iter()))
  end)
end)

describe("A loader", function()
  it("joins numbers, booleans, strings and tables", function()
    local batch = data.default_collate {
      {a = 1, b = 2.5, c = "x", d = true, e = {1, 2}},
      {a = 3, b = 4, c = "y", d = false, e = {3, 4}}}
    assert.equal("int64", tostring(batch.a.dtype))
    assert.same({2.5, 4}, batch.b:totable())
    assert.same({"x", "y"}, batch.c)
    assert.same({true, false}, batch.d:totable())
    assert.same({{1, 3}, {2, 4}}, {batch.e[1]:totable(), batch.e[2]:totable()})
    raises({"default_collate: sample 1 is a number, sample 2 a string"},
           data.default_collate, {1, "a"})
    raises({"default_collate: sample 1 has 2 elements, sample 2 has 1"},
           data.default_collate, {{1, 2}, {3}})
    local ragged = data.DataLoader({1, 2}, {batch_size = 2})
    ragged.dataset = data.FunctionDataset(2, function(i)
      if i == 1 then return 1, 2 end
      return 1
    end)
    raises({"DataLoader: sample 1 of a batch has 2 values, sample 2 has 1"},
           ragged:iter())
    raises({"default_collate: sample 2 has no 'a'"}, data.default_collate,
           {{a = 1}, {b = 1}})
  end)

  it("calls a function of the user", function()
    local loader = data.DataLoader({1, 2, 3}, {
      batch_size = 2, collate = function(list) return #list, list[1] end})
    assert.same({{2, 1}, {1, 3}}, all(loader:iter()))
    local pairs_of = data.DataLoader(data.TensorDataset(st.ones(2), st.ones(2)),
                                     {collate = function(l) return #l[1] end})
    assert.same({2, 2}, all(pairs_of:iter()))
  end)

  it("takes samples of an iterator", function()
    local function source()
      local i = 0
      return function()
        i = i + 1
        if i <= 5 then return i, -i end
      end
    end
    local loader = data.DataLoader(source, {batch_size = 2})
    for _ = 1, 2 do
      assert.same({{{1, 2}, {-1, -2}}, {{3, 4}, {-3, -4}}, {{5}, {-5}}},
                  all(loader:iter()))
    end
    assert.equal(2, #all(data.DataLoader(source, {batch_size = 2,
                                                  drop_last = true}):iter()))
    raises({"cannot be shuffled"}, data.DataLoader, source, {shuffle = true})
  end)

  it("takes batches of another sampler", function()
    local order = {iter = function()
      local lists, i = {{3, 1}, {2}}, 0
      return function() i = i + 1 return lists[i] end
    end, size = function() return 2 end}
    assert.same({{30, 10}, {20}},
                all(data.DataLoader({10, 20, 30}, {batch_sampler = order})()))
    raises({"batch_sampler stands for"}, data.DataLoader, {1},
           {batch_sampler = order, batch_size = 2})
    raises({"give a sampler or shuffle"}, data.DataLoader, {1},
           {sampler = order, shuffle = true})
    raises({"option 'batch_size' must be"}, data.DataLoader, {1},
           {batch_size = 0})
    raises({"DataLoader:", "pin_memory"}, data.DataLoader, {1},
           {pin_memory = true})
  end)

  it("keeps no batch", function()
    local loader = data.DataLoader(st.ones(64, 100), {batch_size = 8})
    collect()
    local before = st.memory().tensors.count
    for batch in loader:iter() do batch:sum() end
    collect()
    assert.equal(before, st.memory().tensors.count)
  end)

  it("shows how far it is", function()
    local text = require("strided.progress").text
    assert.equal("epoch 1 3/10, 1.5/s, 0:02, 0:04 left",
                 text("epoch 1 ", 3, 10, 2))
    assert.equal("90, 1/s, 1:30", text("", 90, nil, 90))
    local words, epoch = require("strided.progress").words, 1
    local function label() return "epoch " .. epoch end
    assert.equal("", words(true))
    assert.equal("epoch 1 ", words(label))
    epoch = 2
    assert.equal("epoch 2 ", words(label))
    assert.equal("train ", words "train")
    assert.equal("a [31mb  ", words "a\27[31mb\n")
    for _, bad in ipairs {{}, function() end} do
      raises({"DataLoader", "'progress'", "text", type(bad) == "table" and
              "got table" or "got nil"}, function()
        words(data.DataLoader({1}, {progress = bad}).progress, "DataLoader")
      end)
    end
  end)

  it("has methods, which are called with a colon", function()
    for _, name in ipairs {"iter", "size", "close"} do
      raises({name .. ": write loader:" .. name .. "() with a colon"},
             data.DataLoader({1})[name])
    end
  end)

  it("refuses what is no sampler", function()
    local function order(result)
      return {size = function() return 1 end, iter = function()
        return result and function() return result end
      end}
    end
    for _, name in ipairs {"sampler", "batch_sampler"} do
      raises({"DataLoader: option '" .. name .. "' must have the methods "
              .. "'iter' and 'size', got "}, data.DataLoader, {1},
             {[name] = {iter = order().iter}})
      raises({"method 'iter' of the sampler must return a function, got nil"},
             function()
               data.DataLoader({1}, {[name] = order()}):iter()()
             end)
    end
    for bad, got in pairs {[5] = "number", [{}] = "an empty one"} do
      raises({"DataLoader: the batch_sampler must return lists of numbers of "
              .. "samples, got " .. got},
             data.DataLoader({1}, {batch_sampler = order(bad)}):iter())
    end
  end)

  it("refuses what makes no dataset", function()
    raises({"DataLoader: module 'string' must return a dataset, or a function"},
           data.DataLoader, {module = "string"})
    raises({"DataLoader: 'make' must be a function, got number"},
           data.DataLoader, {module = "string", make = 5})
    package.loaded.plain_dataset = {size = function() return 1 end,
                                    get = function() return 7 end}
    assert.same({{7}}, all(data.DataLoader {module = "plain_dataset"}:iter()))
    package.loaded.plain_dataset = nil
  end)

  it("refuses tensors without elements", function()
    local meta, freed = st.ones({2}, {device = "meta"}), st.ones(2)
    local loader = data.DataLoader(data.TensorDataset(freed))
    freed:free()
    raises({"DataLoader: a Tensor of the dataset was freed"}, data.DataLoader,
           freed)
    raises({"DataLoader: a Tensor of the dataset was freed"}, loader:iter())
    raises({"TensorDataset: argument 1 was freed"}, data.TensorDataset, freed)
    raises({"DataLoader: a Tensor of the dataset is on the meta device"},
           data.DataLoader, meta)
    raises({"DataLoader: a Tensor of the dataset is on the meta device"},
           data.DataLoader({x = meta}):iter())
  end)

  it("refuses a batch of nil", function()
    raises({"DataLoader: the function 'collate' returned nil"},
           data.DataLoader({1}, {collate = function() end}):iter())
    raises({"DataLoader: method 'batch' of the dataset returned nil"},
           data.DataLoader({size = function() return 1 end, batch = function()
           end, get = function() return 1 end}):iter())
  end)
end)

describe("A transform", function()
  local t = data.transforms
  local picture = st.arange(0, 24):view(2, 3, 4)

  it("changes samples", function()
    local both = t.Compose {t.ToDtype("float32", {scale = true}),
                            t.Normalize({0.5, 0.25}, {0.5, 0.25})}
    local bytes = st.tensor({{{0, 255}}, {{51, 255}}}, {dtype = "uint8"})
    assert.is_true(st.allclose(st.tensor {{{-1, 1}}, {{-0.2, 3}}},
                               both(bytes)))
    assert.same({{{5, 6}}, {{17, 18}}},
                t.CenterCrop({1, 2})(picture):totable())
    assert.is_true(picture:flip {3}:equal(t.RandomHorizontalFlip(1)(picture)))
    assert.is_true(picture:flip {2}:equal(t.RandomVerticalFlip(1)(picture)))
    assert.is_true(picture:equal(t.RandomVerticalFlip(0)(picture)))
  end)

  it("crops at every place, and the same for a seed", function()
    local crop = t.RandomCrop(2, {padding = 1, generator = st.Generator(1)})
    local seen, count = {}, 0
    for _ = 1, 400 do
      local c = crop(picture)
      assert.same({2, 2, 2}, c.shape)
      local key = table.concat(c[1]:flatten():totable(), ",")
      if not seen[key] then seen[key], count = true, count + 1 end
    end
    assert.equal(20, count) -- 4 rows and 5 columns to begin in
    local function first(seed)
      return t.RandomCrop(2, {generator = st.Generator(seed)})(picture)
    end
    assert.is_true(first(5):equal(first(5)))
  end)

  it("refuses what is no picture", function()
    raises({"RandomCrop: a picture of 3 x 4 has no part of 5 x 5"},
           t.RandomCrop(5), picture)
    raises({"Normalize: a floating-point Tensor is expected"},
           t.Normalize({0}, {1}), picture)
    raises({"CenterCrop: a Tensor of at least 2 dimensions"}, t.CenterCrop(2),
           st.ones(3))
  end)
end)
