--- What a script finds in the context of a function with a gradient of its own.
-- axes: lua

local st = require "strided"
local tensors = require "spec.support.tensors"

local raises = tensors.raises

describe("The context of a Function", function()
  --- What its forward function finds in it.
  local function fields()
    local found = {}
    local f = st.autograd.Function {
      name = "Curious",
      forward = function(ctx, x)
        for key, value in pairs(ctx) do
          found[#found + 1] = key
          found[#found + 1] = value
        end
        return x * 2
      end,
      backward = function(_, g) return g * 2 end,
    }
    local x = st.ones(1, {requires_grad = true})
    f(x):backward()
    assert.equal(2, x.grad:item())
    return found
  end

  it("has no address in it", function()
    local n = 0
    for _, value in ipairs(fields()) do
      if type(value) == "userdata" then
        n = n + 1
        raises("'source' must be a string or an address, got context",
               st.frombuffer, value, {count = 1})
      end
    end
    assert.is_true(n > 0)
  end)

  it("shows nothing of what the binding keeps there", function()
    for _, value in ipairs(fields()) do
      if type(value) == "userdata" then
        assert.equal("protected", getmetatable(value))
        raises("attempt to index", function() return value.backward end)
        raises("attempt to index", function() value.backward = 1 end)
      elseif type(value) == "table" then
        assert.is_nil(value.backward)
      end
    end
  end)

  it("may lose or get the fields of another, and no more", function()
    local seen
    local function make(change)
      return st.autograd.Function {
        forward = function(ctx, x)
          ctx:save(x)
          change(ctx)
          return x * 2
        end,
        backward = function(_, g) return g * 2 end,
      }
    end
    local function hidden(ctx)
      for key, value in pairs(ctx) do
        if type(key) == "userdata" then return key, value end
      end
    end
    local x = st.ones(1, {requires_grad = true})
    make(function(ctx) seen = {hidden(ctx)} end)(x)
    for _, value in ipairs {seen[2], 1, {}, io.stdout} do
      local f = make(function(ctx) ctx[seen[1]] = value end)
      local ok, why = pcall(function() f(x):backward() end)
      assert.is_true(ok or type(why) == "string")
    end
    pcall(function() make(function(ctx) ctx[seen[1]] = nil end)(x):backward()
    end)
  end)
end)
