--- Tensors that are handed over by tokens, as far as one Lua state can see:
-- what a token is good for, and how often. Other states and threads are in
-- spec/embed/share.c and spec/hosts.
-- axes: lua ffi threads

local st = require "strided"

local collect = require "spec.support.collect"
local raises_here = require("spec.support.tensors").raises_here

--- Tokens that wait, and the tensors there are.
local function alive()
  collect()
  local m = st.memory()
  return {m.shared.count, m.tensors.count, m.storages.count}
end

describe("A shared tensor", function()
  local before
  setup(function() before = alive() end)
  teardown(function() assert.same(before, alive()) end)

  it("is a tensor of its own over the same elements", function()
    local t = st.arange(6):view(2, 3)
    local u = st.attach(st.share(t))
    assert.is_true(u ~= t and u:is_alias_of(t))
    u[{2, 3}] = 50
    assert.equal(50, t[{2, 3}]:item())
    u:transpose_(1, 2)
    assert.same({2, 3}, {t.shape[1], t.shape[2]})
  end)

  -- what is shared: it looks the same on the other side
  local KINDS = {
    {"every dtype", function(add)
      for _, d in ipairs {"bool", "uint8", "int64", "float16", "bfloat16",
                          "float32", "float64", "complex64"} do
        add(st.ones({2}, {dtype = d}))
      end
    end},
    {"a view with gaps", function(add)
      add(st.arange(24):view(4, 6)["2:3, 2:6:2"])
    end},
    {"a broadcast", function(add) add(st.ones(3, 1):expand(3, 4)) end},
    {"channels last", function(add)
      add(st.rand(1, 2, 3, 4):contiguous {memory_format = "channels_last"})
    end},
    {"eight dimensions", function(add)
      add(st.ones(1, 2, 1, 2, 1, 2, 1, 2))
    end},
    {"no dimension", function(add) add(st.tensor(7)) end},
    {"no elements", function(add) add(st.zeros(0, 3)) end},
    {"a lazy conjugate", function(add)
      add(st.tensor {st.complex(1, 2)}:conj())
    end},
    {"a lazy negative", function(add)
      add(st.tensor {st.complex(1, 2)}:conj():imag())
    end},
  }
  for _, kind in ipairs(KINDS) do
    it("keeps what it is: " .. kind[1], function()
      kind[2](function(t)
        local u = st.attach(st.share(t))
        assert.equal(t.dtype, u.dtype)
        assert.equal(tostring(t.shape), tostring(u.shape))
        assert.equal(tostring(t:stride()), tostring(u:stride()))
        assert.equal(t:storage_offset(), u:storage_offset())
        assert.equal(t:data_ptr(), u:data_ptr())
        assert.equal(t:keys(), u:keys())
        assert.equal(tostring(t), tostring(u))
      end)
    end)
  end

  it("is what it was when it was shared", function()
    local t = st.arange(6):view(2, 3)
    local token = st.share(t)
    t:transpose_(1, 2)
    t:free()
    local u = st.attach(token)
    assert.same({2, 3}, {u.shape[1], u.shape[2]})
    assert.equal(15, u:sum():item())
  end)

  it("cannot grow any more, on either side", function()
    local t = st.zeros(4)
    local view = t:view(2, 2)
    raises_here({"resize_: ", "shared"}, function()
      st.unshare(st.share(t))
      t:resize_(5)
    end)
    raises_here({"resize_: ", "shared"}, function() view:resize_(3, 3) end)
    raises_here({"add: ", "shared"}, function()
      st.add(st.ones(9), 1, {out = st.attach(st.share(t:narrow(1, 1, 0)))})
    end)
    t:resize_(3)
    assert.equal(3, t:numel())
  end)
end)

-- Another thread may write them while they are read: the operators that read
-- them twice are handed copies (spec/embed/share.c has the other thread).
describe("Shared positions and masks", function()
  local before
  setup(function() before = alive() end)
  teardown(function() assert.same(before, alive()) end)

  local function shared(t) return st.attach(st.share(t)) end

  it("mean what others mean", function()
    local t = st.arange(6) * 10
    local last, odd = shared(st.tensor {6, -2}), shared(t:remainder(20):gt(0))
    assert.same({50, 40}, t:index_select(1, last):totable())
    assert.same({50, 40}, t:gather(1, last):totable())
    assert.same({50, 40}, t[{last}]:totable())
    assert.same({10, 30, 50}, t[odd]:totable())
    assert.same({10, 30, 50}, t:masked_select(odd):totable())
    assert.same({2, 4, 6}, shared(odd):nonzero():view(-1):totable())
    t[{last}] = -1
    assert.same({0, 10, 20, 30, -1, -1}, t:totable())
    t:index_add_(1, shared(st.tensor {1, 1}), st.tensor {1, 2})
    assert.same({3, 10, 20, 30, -1, -1}, t:totable())
    assert.same({2, 1}, shared(st.tensor {1, 1, 2}):bincount():totable())
    raises_here({"gather: ", "7", "size 6"}, function()
      t:gather(1, shared(st.tensor {7}))
    end)
  end)
end)

describe("A token", function()
  local before
  setup(function() before = alive() end)
  teardown(function() assert.same(before, alive()) end)

  it("is a short string of printable characters, never the same", function()
    local seen, t = {}, st.ones(1)
    for _ = 1, 1000 do
      local token = st.share(t)
      assert.is_true(#token < 64 and not token:find "[^%w%-]")
      assert.is_nil(seen[token])
      seen[token] = true
    end
    for token in pairs(seen) do assert.is_true(st.unshare(token)) end
  end)

  it("is good for one tensor unless it is told otherwise", function()
    local t = st.ones(2)
    for _, row in ipairs {{1}, {1, 1}, {3, 3}, {3, {times = 3}}, {1, {}}} do
      local token = st.share(t, row[2])
      for _ = 1, row[1] do assert.equal(2, st.attach(token):sum():item()) end
      raises_here({"attach: ", "any more"}, function() st.attach(token) end)
      assert.is_false(st.unshare(token))
    end
  end)

  it("is good for any number of them with math.huge, until taken back",
     function()
    local token = st.share(st.ones(2), {times = math.huge})
    for _ = 1, 100 do st.attach(token) end
    assert.is_true(st.unshare(token))
    raises_here({"attach: ", "any more"}, function() st.attach(token) end)
  end)

  it("keeps the elements, is counted, and can be taken back", function()
    collect()
    local start = st.memory().shared.count
    local bytes = st.memory().data.bytes
    local token = st.share(st.ones(1000))
    collect()
    assert.equal(start + 1, st.memory().shared.count)
    assert.is_true(st.memory().data.bytes >= bytes + 4000)
    assert.is_true(st.unshare(token))
    assert.is_false(st.unshare(token))
    assert.equal(start, st.memory().shared.count)
    assert.equal(bytes, st.memory().data.bytes)
  end)

  it("leaves what was attached when it is taken back", function()
    local token = st.share(st.ones(3), 2)
    local t = st.attach(token)
    st.unshare(token)
    assert.equal(3, t:sum():item())
  end)

  it("that is none is an error at the caller's line", function()
    local real = st.share(st.ones(1))
    local forged = real:gsub("%x$", function(c)
      return c == "0" and "1" or "0"
    end)
    local foreign = real:gsub("%-%d+%-", "-1-")
    for _, token in ipairs {
      "", "x", ("x"):rep(1e5), "tensor-", "%s%n", real .. "\0", real .. "0",
      " " .. real, real:upper(), real:sub(1, -2), "tensor-99999999999999999-",
      forged, foreign,
    } do
      raises_here("attach: no tensor is shared",
                  function() st.attach(token) end)
      assert.is_false(st.unshare(token))
    end
    raises_here({"attach: ", "from process 1, this is "},
                function() st.attach(foreign) end)
    assert.equal(1, st.attach(real):item())
  end)

  it("is a string and nothing else", function()
    for _, name in ipairs {"attach", "unshare"} do
      for _, bad in pairs {0, 1.5, true, {}, print, st.ones(1), false} do
        raises_here(name .. ": argument 'token' must be a string",
                    function() st[name](bad) end)
      end
      raises_here(name .. ": argument 'token' must be a string, got nothing",
                  function() st[name]() end)
    end
  end)
end)

describe("Sharing", function()
  local before
  setup(function() before = alive() end)
  teardown(function() assert.same(before, alive()) end)

  it("takes a tensor that is there", function()
    local freed = st.ones(1)
    freed:free()
    for _, bad in pairs {1, "x", {}, print, freed, st.float32} do
      raises_here("share: argument 't' must be a Tensor",
                  function() st.share(bad) end)
    end
    raises_here("share: argument 't' must be a Tensor, got nil",
                function() st.share() end)
  end)

  it("takes one on the CPU", function()
    raises_here({"share: only tensors on the CPU ", "meta"}, function()
      st.share(st.ones({2}, {device = "meta"}))
    end)
  end)

  it("takes a number of times that makes sense", function()
    local t = st.ones(1)
    for _, bad in pairs {0, -1, 1.5, "many", true, -math.huge, 0 / 0,
                         2 ^ 70, {}} do
      if type(bad) ~= "table" then
        raises_here("share: argument 'times'", function() st.share(t, bad) end)
      end
      raises_here("share: argument 'times'",
                  function() st.share(t, {times = bad}) end)
    end
    raises_here("share: unknown keyword argument tims",
                function() st.share(t, {tims = 2}) end)
    raises_here("share: unknown keyword argument",
                function() st.share(t, {2}) end)
  end)

  it("fails without a trace when there is no memory, and uses nothing up",
     function()
    local t = st.ones(1, 1, 1, 1, 1, 1, 4)
    local token = st.share(t, 1)
    local positions = st.attach(st.share(st.tensor {1, 2}))
    for _, call in ipairs {
      function() return st.unshare(st.share(t)) end,
      function() return st.attach(token) end,
      function() return t:take(positions):sum():item() end,
    } do
      local done
      local failures, k = 0, 0
      repeat
        local start = alive()
        k = k + 1
        st.memory_fail_at(k)
        local ok, result = pcall(call)
        done = st.memory_fail_at(0) > 0
        assert.equal(done, ok)
        if not ok then
          failures = failures + 1
          assert.matches("out of memory", result)
          assert.same(start, alive())
        end
      until done
      assert.is_true(failures >= 2)
    end
    assert.is_false(st.unshare(token))
  end)
end)
