--- The tar of PyTorch 0.1 with another sys_info: what the error says.
-- axes: lua

local build = require "spec.support.build"
local files = require "spec.support.files"
local st = require "strided"
local raises = require("spec.support.tensors").raises

local TAR = files.read(build.root .. "/spec/data/checkpoints/tar.pt")
local BLOCK = 512

--- The tar with other bytes at the beginning of a file in it.
local function with(name, change)
  local at = TAR:find(name .. "\0", 1, true) + BLOCK
  local text = TAR:sub(at, at + BLOCK - 1)
  local changed = change(text)
  assert(changed ~= text)
  return TAR:sub(1, at - 1) .. changed .. TAR:sub(at + #changed)
end

--- Calls fn with the path of a file that has these bytes.
local function saved(bytes, fn)
  local path = os.tmpname()
  files.write(path, bytes)
  local ok, why = pcall(fn, path)
  os.remove(path)
  if not ok then error(why, 0) end
end

describe("A tar of PyTorch 0.1", function()
  it("with a sys_info that is no table says so", function()
    saved(with("sys_info", function() return "\128\2K\1." end), function(path)
      raises("its tar has no table 'sys_info'", st.load, path)
    end)
  end)

  it("of a big-endian machine says so", function()
    saved(with("sys_info", function(text)
      return (text:gsub("(little_endian.-)\136", "%1\137", 1))
    end), function(path)
      raises("it was written on a big-endian machine", st.load, path)
    end)
  end)
end)
