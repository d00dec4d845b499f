--- examples/neovim: a network completes lines in Neovim, trained for a moment
-- on the same line over and over.

local build = require "spec.support.build"
local host = require "spec.hosts.host"

local EXAMPLES = host.here .. "/../../examples/"
local LINE = "one two three four five six seven eight nine ten\n"

-- what spec/hosts/neovim/complete.lua prints
local EXPECTED = {
  "suggests 1:11 'ee four five six seven eight nine ten'",
  "writes " .. LINE:sub(1, -2) .. ", cursor at 48, marks ",
  "marks ",
  "is surprised 2:10 SpellBad to 12",
  "marks ",
  "says false cannot load '/no/such/file': No such file or directory",
}

host.suite("Neovim that completes lines", host.lacks "nvim", function()
  local network

  setup(function()
    network = host.scratch() .. "/gpt.safetensors"
    local text = host.write("text", LINE:rep(60))
    local said, code = host.run(("env LUA_PATH='%s' LUA_CPATH='%s' %s "
      .. "'%sgpt.lua' --out '%s' --width 32 --layers 1 --heads 2 --context 32 "
      .. "--steps 200 --rate 0.01 --characters 0 '%s'"):format(host.path,
      host.cpath, build.lua, EXAMPLES, network, text))
    assert.equal(0, code, said)
  end)

  it("shows, writes and takes back what the network thinks", function()
    local text, code = host.run(("env LUA_PATH='%s' LUA_CPATH='%s' "
      .. "XDG_STATE_HOME='%s' nvim --headless -u NONE -i NONE -n "
      .. "--cmd 'set rtp+=%sneovim' -c 'runtime plugin/gpt.lua' "
      .. "-c 'GptComplete %s' -c 'luafile %s/neovim/complete.lua'"):format(
      host.path, host.cpath, host.scratch(), EXAMPLES, network, host.here), 60)
    assert.equal(0, code, text)
    local at = 1
    for _, line in ipairs(EXPECTED) do
      local _, stop = text:find(line .. "\n", at, true)
      assert.is_number(stop, line .. " is not in:\n" .. text)
      at = stop + 1
    end
  end)

  it("does not start without a network", function()
    local text = host.run(("env LUA_PATH='%s' LUA_CPATH='%s' nvim --headless "
      .. "-u NONE -i NONE -n --cmd 'set rtp+=%sneovim' "
      .. "-c 'runtime plugin/gpt.lua' -c GptSurprise -c 'qa!'"):format(
      host.path, host.cpath, EXAMPLES), 60)
    assert.truthy(text:find("first :GptComplete FILE", 1, true), text)
  end)
end)
