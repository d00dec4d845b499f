--- Sets of dispatch keys as values (K1 to K10).
-- axes: lua lua5.2

local st = require "strided"
local tensors = require "spec.support.tensors"

local raises, raises_here = tensors.raises, tensors.raises_here
local unpack = unpack or table.unpack

local keyset = st.keyset

--- The names in a set, from low to high priority.
local function names(ks)
  local list = {}
  for name in ks:each() do list[#list + 1] = name end
  return list
end

describe("A key set", function()
  it("is made of names and of sets", function()
    local ks = keyset("CPU", keyset("AutogradCPU"), "Meta")
    assert.equal(keyset("Meta", "AutogradCPU", "CPU"), ks)
    assert.equal("DispatchKeySet(CPU, Meta, AutogradCPU, AutogradMeta)",
                 tostring(ks))
    assert.is_true(keyset():is_empty())
    assert.is_false(ks:is_empty())
  end)

  -- the highest key of a set, which a call would take (K2, K4)
  local highest = {
    {"Undefined"}, {"CPU", "CPU"}, {"CUDA", "CPU", "CUDA"},
    {"AutogradCUDA", "AutogradCUDA", "CUDA", "ADInplaceOrView"},
    {"ADInplaceOrView", "CUDA", "ADInplaceOrView"},
    {"BackendSelect", "BackendSelect", "CPU", "Meta"},
    {"Lua", "Lua", "BackendSelect"}, {"Tracer", "Tracer", "AutogradCPU"},
  }
  for _, row in ipairs(highest) do
    local rest = {unpack(row, 2)}
    it(("{%s} takes %s (K4)"):format(table.concat(rest, ", "), row[1]),
       function() assert.equal(row[1], keyset(unpack(rest)):highest()) end)
  end

  -- an expression and the set that it must be (K5)
  local cpu, cuda = keyset "CPU", keyset "CUDA"
  local both = cpu + cuda
  local algebra = {
    {"union", cpu + cuda, keyset("CPU", "CUDA")},
    {"union with a name", cpu + "CUDA", both},
    {"union with a name first", "CUDA" + cpu, both},
    {"add", cpu:add("CUDA", "CPU"), both},
    {"intersection", (both + "AutogradCPU") * keyset "ADInplaceOrView",
     keyset()},
    {"intersection keeps what both have", (cpu + "Lua") * "Lua",
     keyset "Lua"},
    {"xor", keyset("Lua", "Fake"):xor(keyset("Fake", "Named")),
     keyset("Lua", "Named")},
    {"minus leaves backends (K5)", (both + "AutogradCUDA") - "AutogradCUDA",
     both},
    {"remove leaves backends (K5)", (cpu + "AutogradCPU"):remove "AutogradCPU",
     cpu},
    {"remove takes several", keyset("CPU", "Lua", "Fake"):remove("Lua",
     "Fake"), cpu},
  }
  for _, row in ipairs(algebra) do
    it("has " .. row[1], function() assert.equal(row[3], row[2]) end)
  end

  it("is never changed", function()
    local ks = keyset "CPU"
    assert.equal(5, select("#", ks:add "Lua", ks:remove "CPU", ks + "Meta",
                           ks - "CPU", ks:remove_backend "CPU"))
    assert.equal(keyset "CPU", ks)
    assert.not_equal(keyset "Meta", ks)
    assert.not_equal("CPU", ks)
  end)

  it("loses a backend only by name (K5)", function()
    local ks = keyset("CPU", "CUDA", "AutogradCPU"):remove_backend "CUDA"
    assert.same({"CPU", "AutogradCPU"}, names(ks))
    assert.same({}, names(keyset("CPU"):remove_backend "CPU"))
    assert.is_false(keyset("CPU"):remove_backend("CPU"):is_empty())
    raises("'ADInplaceOrView' has no backend", ks.remove_backend, ks,
           "ADInplaceOrView")
  end)

  it("has what it is asked for", function()
    local ks = keyset("CPU", "AutogradCPU")
    assert.is_true(ks:has "CPU" and ks:has("CPU", "AutogradCPU"))
    assert.is_true(ks:has(keyset "AutogradCPU"))
    assert.is_false(ks:has "CUDA" or ks:has("CPU", "Lua"))
  end)

  it("goes through functionalities times backends, upwards (K7)", function()
    assert.same({"CPU", "CUDA", "BackendSelect", "ADInplaceOrView",
                 "AutogradCPU", "AutogradCUDA"},
                names(keyset("AutogradCUDA", "CPU", "BackendSelect",
                             "ADInplaceOrView")))
    assert.same({}, names(keyset()))
    assert.equal(106, #st.keyset_full())
    assert.equal(106, #names(st.keyset_full()))
    assert.equal(2, #keyset("CPU", "Lua"))
  end)

  it("goes up to a key (K6)", function()
    local below = st.keyset_after "AutogradOther"
    assert.is_true(below:has "ADInplaceOrView")
    assert.is_true(below:has("CPU", "CUDA"))
    assert.is_false(below:has "AutogradOther" or below:has "AutogradCPU")
    assert.is_true(st.keyset_after("AutogradCPU"):has "AutogradOther")
    assert.equal("ADInplaceOrView",
                 (keyset("AutogradCPU", "ADInplaceOrView", "CPU") *
                  below):highest())
    raises({"keyset_after: ", "no dispatch key 'NoSuchKey'"},
           st.keyset_after, "NoSuchKey")
  end)

  it("has names that read back (K10)", function()
    for name in st.keyset_full():each() do
      local ks = keyset(name)
      assert.equal(name, ks:highest())
    end
  end)

  it("holds no alias key, and says why (K8)", function()
    for _, name in ipairs {"Autograd", "CompositeImplicitAutograd",
                           "CompositeExplicitAutograd"} do
      raises_here("keyset: '" .. name .. "' is an alias", keyset, name)
    end
  end)

  it("refuses what is no key", function()
    local ks = keyset "CPU"
    -- what is no key, a part of the message
    for _, row in ipairs {
      {"cpu", "no dispatch key 'cpu"}, {"", "no dispatch key '"},
      {"CPU\0", "no dispatch key 'CPU"}, {7, "got number"},
      {{}, "got table"}, {print, "got function"},
    } do
      local bad, why = row[1], row[2]
      raises(why, keyset, bad)
      raises(why, function() return ks + bad end)
      raises(why, ks.has, ks, bad)
    end
    raises({"has: ", "'self' must be a keyset"}, ks.has, "CPU")
  end)

  it("is what a tensor has (K9)", function()
    local t = st.zeros(1)
    assert.is_false(t.requires_grad)
    assert.same({"CPU", "ADInplaceOrView", "AutocastCPU"},
                names(t:key_set()))
    assert.equal("Meta", st.zeros({1}, {device = "meta"}):key_set()
                           :remove("ADInplaceOrView"):highest())
    st.inference_mode(function()
      assert.same({"CPU", "AutocastCPU"}, names(st.zeros(1):key_set()))
    end)
    t:requires_grad_()
    assert.equal("AutogradCPU", (t:key_set() - "AutocastCPU"):highest())
  end)
end)
