--- Calls methods from places that have a name, for dumps show where things
-- were registered.

local compile = loadstring or load

local places = {}

local CHUNK = "local o, method, a, b, c = ... o[method](o, a, b, c)"

--- object[method](object, ...), at "<place>:1".
function places.at(place, object, method, ...)
  assert(compile(CHUNK, "=" .. place))(object, method, ...)
end

return places
