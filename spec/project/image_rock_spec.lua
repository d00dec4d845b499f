--- The image rock, built against nothing but the public header: its own specs,
-- rocks/strided-image/spec, in processes of their own; and st.save and st.load,
-- with the rock and without it.
-- axes: lua unsanitized

local build = require "spec.support.build"
local files = require "spec.support.files"
local st = require "strided"
local tensors = require "spec.support.tensors"

local output, raises = build.output, tensors.raises
local ROCK = build.root .. "/rocks/strided-image"

local HEADERS = build.headers()
-- What is built for LuaJIT is for the other Lua of the ABI, too.
local LUAS = HEADERS and {build.lua} or {"luajit", "lua5.1"}
local FLAGS = build.is_sanitized and "-DCMAKE_C_FLAGS='-g1 -fsanitize=" ..
  "address,undefined -fno-sanitize-recover=all'" or ""

-- Sums of what operators with loops of their own give.
local DIGEST = [[
  local st = require "strided"
  local image = require "strided.image"
  local support = require "spec.image_support"
  local function show(t)
    print(t:to "int64":reshape(-1):dot(st.arange(t:numel())):item())
  end
  for channels = 1, 4 do
    local t = support.picture(channels, 61, 83)
    for _, mode in ipairs {"area", "bilinear", "bicubic", "lanczos"} do
      for _, size in ipairs {{20, 31}, {61, 40}, {17, 83}, {90, 120}} do
        show(image.resize(t, size, mode))
        show(image.resize(t:contiguous(), size, mode))
      end
    end
    show(image.gaussian_blur(t, {5, 7}))
    if channels == 3 then show(image.rgb_to_gray(t)) end
  end
  print(st.config().isa)
]]

describe("The image rock", function()
  local folder = os.tmpname()
  os.remove(folder)
  teardown(function() os.execute("rm -rf '" .. folder .. "'") end)

  --- The environment of a Lua that finds the rock and the library.
  local function environment()
    local path = ("./?.lua;%s/lua/?.lua;%s/lua/?.lua;%s/lua/?/init.lua;;")
      :format(ROCK, build.root, build.root)
    return ("env -u LUA_PATH_5_3 -u LUA_PATH_5_4 -u LUA_CPATH_5_2 " ..
            "-u LUA_CPATH_5_3 -u LUA_CPATH_5_4 LUA_PATH='%s' " ..
            "LUA_CPATH='%s/?.so;%s'"):format(path, folder, package.cpath)
  end

  it("builds without a warning", function()
    local said = output(("env -u LD_PRELOAD sh -c \"cmake -S '%s' -B '%s' " ..
      "-DCMAKE_C_COMPILER_LAUNCHER=$(command -v ccache) " ..
      "-DCMAKE_PREFIX_PATH='%s' %s %s && cmake --build '%s' --parallel 2\" " ..
      "&& echo built"):format(ROCK, folder, build.folder,
        HEADERS and "-DLUA_INCDIR=" .. HEADERS or "", FLAGS, folder))
    assert.truthy(said:find "built\n$", said)
    assert.is_nil(said:find "warning", said)
  end)

  for _, lua in ipairs(LUAS) do
    it("passes its specs in " .. lua, function()
      local said = output(("cd '%s' && %s %s \"$(command -v busted)\" " ..
        "-o plainTerminal spec; echo exit code $?"):format(ROCK,
          environment(), lua))
      assert.truthy(said:find "exit code 0\n$", said)
      assert.truthy(said:find "%d%d+ successes / 0 failures / 0 errors", said)
    end)
  end

  if not build.is_sanitized then
    it("gives the same bytes on every instruction set", function()
      local script = os.tmpname()
      files.write(script, DIGEST)
      build.same_by_instruction_set(("sh -c \"cd '%s' && %s %s '%s'\""):format(
        ROCK, environment(), build.lua, script))
      os.remove(script)
    end)
  end
end)

-- -- The main library --------------------------------------------------------

describe("st.save and st.load", function()
  local base, before
  local function forget() package.loaded["strided.image"] = nil end

  before_each(function()
    base = os.tmpname()
    before = {package.loaded["strided.image"],
              package.preload["strided.image"]}
    forget()
  end)
  after_each(function()
    os.remove(base)
    package.loaded["strided.image"], package.preload["strided.image"] =
      before[1], before[2]
  end)

  local INSTALL = "the rock strided-image reads and writes PNG, JPEG and " ..
    "WebP: luarocks install strided-image"

  it("say which rock reads a picture", function()
    package.preload["strided.image"] = function()
      error "module 'strided.image' not found:"
    end
    for _, suffix in ipairs {"png", "jpg", "JPEG", "webp"} do
      local path = base .. "." .. suffix
      forget()
      raises("names an image, but st.save writes .npy, .npz, " ..
             ".safetensors, .pt and .csv; " .. INSTALL, st.save, path,
             st.ones(3))
      assert.is_nil(io.open(path))
    end
    files.write(base, "\137PNG\r\n\26\n")
    forget()
    raises("it looks like a PNG image; " .. INSTALL, st.load, base)
    forget()
    raises(INSTALL, st.load, base, {format = "image"})
  end)

  it("say why the rock does not load", function()
    local why = "error loading module 'strided.image.core' from file 'core.so'"
    package.preload["strided.image"] = function() error(why, 0) end
    raises("the rock strided-image does not load: " .. why, st.save,
           base .. ".png", st.ones(3))
    package.preload["strided.image"] = function() error("enough", 0) end
    local ok, message = pcall(st.save, base .. ".png", st.ones(3))
    assert.is_false(ok) -- an interrupt
    assert.equal("enough", message)
  end)

  it("hand the bytes to the rock", function()
    package.preload["strided.image"] = function()
      return {
        decoding = {mode = true}, encoding = {quality = true},
        read = function(bytes, options)
          if options.mode == "gray" then return nil, "it is too colourful" end
          return {bytes, options.mode}
        end,
        encode = function(t, kind, options)
          return ("\137PNG\r\n\26\n%s %d %s"):format(kind, t:numel(),
                                                     options.quality)
        end,
      }
    end
    local path = base .. ".png"
    st.save(path, st.ones(3), {quality = 7})
    assert.equal("\137PNG\r\n\26\npng 3 7", files.read(path))
    assert.same({files.read(path), "rgb"}, st.load(path, {mode = "rgb"}))
    raises("cannot load '" .. path .. "': it is too colourful", st.load, path,
           {mode = "gray"})
    raises("there is no option 'mod'", st.load, path, {mod = "rgb"})
    raises("there is no option 'qualit'", st.save, path, st.ones(3),
           {qualit = 1})
    os.rename(path, base .. ".npy")
    raises("it is an image, not what its name says", st.load, base .. ".npy")
    os.remove(base .. ".npy")
  end)
end)
