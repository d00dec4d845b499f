--- Pictures, which the rock strided-image reads and writes where it is
-- installed.
--
-- @module strided.io.image

local format = string.format
local error, find, pcall, sub, type = error, string.find, pcall, string.sub,
  type

local require = require "strided.core".require

local image = {}

-- The bytes of a larger file are no Lua string.
local MOST_BYTES = 2 ^ 31 - 2 ^ 16

--- What to do where the rock is missing.
image.ADVICE = "the rock strided-image reads and writes PNG, JPEG and WebP: "
  .. "luarocks install strided-image"

--- The suffixes and first bytes of the files that the rock reads.
image.suffixes = {png = "png", jpg = "jpeg", jpeg = "jpeg", webp = "webp"}

function image.is_image(head)
  return head:find "^\137PNG\r\n\26\n" or head:find "^\255\216\255"
    or head:find "^RIFF....WEBP"
end

--- The module strided.image, or nil and what to do.
function image.rock()
  local ok, found = pcall(require, "strided.image")
  if ok then return found end
  if type(found) ~= "string" or not find(found, "module 'strided%.image") then
    error(found, 0)
  end
  if found:find("module 'strided.image' not found", 1, true) then
    return nil, image.ADVICE
  end
  return nil, "the rock strided-image does not load: "
    .. found:match "^[^\n]*"
end

--- The bytes of a file. A header is read from a mapping: no page of the file is
-- read but those that have it.
local function bytes_of(source, is_header)
  local size = source:size()
  if is_header then
    local ok, why = source:map(false)
    if not ok then return nil, why end
    return source:view(0, "uint8", {size})
  end
  if size > MOST_BYTES then
    return nil, format("it has %.0f bytes; a picture has at most %.0f", size,
                       MOST_BYTES)
  end
  return source:read(0, size)
end

local function read(source, options)
  local rock, why = image.rock()
  if not rock then return nil, why end
  local bytes
  bytes, why = bytes_of(source, options.info)
  if not bytes then return nil, why end
  return rock.read(bytes, options)
end

--- What strided.io.file needs: a reader, its options, and a name for messages;
-- or nil and an error message.
function image.reader()
  local rock, why = image.rock()
  if not rock then return nil, why end
  return {read, rock.decoding, "an image"}
end

--- The same for a suffix: a writer, what it takes, its options, a name.
function image.writer(suffix)
  local rock, why = image.rock()
  if not rock then return nil, why end
  local function write(file, t, options)
    local ok, bytes = pcall(rock.encode, t, image.suffixes[suffix], options)
    if ok then return file:write(bytes) end
    local at = type(bytes) == "string" and find(bytes, "image.encode: ", 1,
                                                true)
    if not at then error(bytes, 0) end
    return nil, sub(bytes, at)
  end
  return {write, "a tensor", rock.encoding, "an image"}
end

return image
