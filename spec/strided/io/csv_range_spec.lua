--- Numbers of a CSV file that a floating dtype does not have: an error, where
-- the dtype was asked for. NaN.
-- axes: lua

local st = require "strided"

local tensors = require "spec.support.tensors"

local raises_here = tensors.raises_here

local function read(text, options)
  return st.read_csv({text = text}, options)
end

local function elements(text, dtype)
  return read("x\n" .. text .. "\n", {dtype = dtype}).x:totable()
end

describe("A NaN in a CSV file", function()
  it("has no sign", function()
    local t = read("a\nnan\n-nan\n+NaN\n-NAN\n").a
    assert.is_true(t:isnan():all():item())
    assert.is_false(t:signbit():any():item())
  end)
end)

describe("A number beyond its dtype in a CSV file", function()
  -- dtype, the largest number in text that rounds to a finite one, what that
  -- is, the smallest beyond it: halfway between the largest and the next one
  -- that would be there
  for _, row in ipairs {
    {"float16", "65519.999", 65504, "65520"},
    {"bfloat16", "3.396177529230459e38", 2 ^ 127 * (2 - 2 ^ -7),
     "339617752923046005526922703901628039168"},
    {"float32", "3.4028235677973366e38", 2 ^ 127 * (2 - 2 ^ -23),
     "3.4028235677973367e38"},
    {"float64", "1.7976931348623158e308", 2 ^ 1023 * (2 - 2 ^ -52),
     "1.7976931348623159e308"},
  } do
    it("of " .. row[1] .. " is an error", function()
      assert.same({row[3]}, elements(row[2], row[1]))
      assert.same({-row[3]}, elements("-" .. row[2], row[1]))
      for _, text in ipairs {row[4], "-" .. row[4], "1e999", " 1e999 "} do
        raises_here({"read_csv: cannot read the text: line 3, column 2 ('y'), "
                     .. row[1] .. ": '" .. text .. "' does not fit"},
                    function()
          read("x,y\n1,2\n3," .. text .. "\n", {dtype = row[1]})
        end)
      end
      raises_here("line 2, column 1, " .. row[1] .. ": '1e999' does not fit",
                  function()
        read("1\n1e999\n", {dtype = row[1], as = "tensor", header = false})
      end)
    end)

    it("of " .. row[1] .. " is no error where the text says inf", function()
      assert.same({math.huge, -math.huge, 1},
                  elements("inf\n-Infinity\n1", row[1]))
    end)

    it("of " .. row[1] .. " does not replace missing values", function()
      local fill = tonumber(row[4])
      if fill < math.huge then
        raises_here("is missing, and option 'fill' does not fit", function()
          read("x,y\n1,\n", {dtype = row[1], fill = fill})
        end)
      end
      local t = read("x,y\n,1\n", {dtype = row[1], fill = math.huge})
      assert.same({math.huge}, t.x:totable())
    end)
  end

  it("is rounded once to float16 and bfloat16", function()
    -- halfway between two numbers of the dtype, and a little more, which a
    -- float does not have
    assert.same({1, 1 + 2 ^ -10, 1 + 2 ^ -9},
                elements("1.00048828125\n1.0004882812500003\n" ..
                         "1.00146484375", "float16"))
    assert.same({1, 1 + 2 ^ -7, -1 - 2 ^ -7},
                elements("1.00390625\n1.0039062500000002\n" ..
                         "-1.0039062500000002", "bfloat16"))
  end)

  -- dtype, bits, least exponent of a number with all bits, greatest
  for _, row in ipairs {
    {"float16", 11, -14, 15}, {"bfloat16", 8, -126, 127},
    {"float32", 24, -90, 90},
  } do
    it("is rounded once to " .. row[1] .. " beside every tie", function()
      local dtype, bits, least, most = row[1], row[2], row[3], row[4]
      local texts, want = {}, {}
      local function add(text, value)
        texts[#texts + 1], want[#want + 1] = text, value
        texts[#texts + 1], want[#want + 1] = "-" .. text, -value
      end
      local first = bits < 24 and least - bits or least
      for e = first, most do
        local unit = 2 ^ (math.max(e, least) - bits + 1)
        for _, part in ipairs {0, 1, 2, 5, 2 ^ (bits - 1) - 1} do
          local low = math.floor((2 ^ e + part * unit) / unit) * unit
          local tie, high = low + unit / 2, low + unit
          local is_last = e == most and part == 2 ^ (bits - 1) - 1
          local digits, exponent = ("%.98e"):format(tie)
                                   :match "^(%d%.%d-)0*(e.*)$"
          local less = digits:sub(1, -2) .. digits:sub(-1):byte() - 49 .. "9"
          add(less .. exponent, low)
          if not is_last then
            add(digits .. "1" .. exponent, high)
            add(digits .. exponent, low / unit % 2 == 0 and low or high)
          end
        end
      end
      assert.same(want, elements(table.concat(texts, "\n"), dtype))
      assert.is_true(#want > 800)
    end)
  end

  it("is infinite where no dtype is given", function()
    local t = read("x,y\n1e999,1\n-1e999,2\n")
    assert.same({math.huge, -math.huge}, t.x:totable())
    t = read("1e999,1\n1,2\n", {as = "tensor", header = false})
    assert.same({{math.huge, 1}, {1, 2}}, t:totable())
  end)
end)
