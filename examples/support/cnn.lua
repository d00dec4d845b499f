--- A convolutional network that reads handwritten digits, for the scripts that
-- train it and serve it.
--
--     local cnn = require "examples.support.cnn"
--     local net = cnn.load "cnn.safetensors"
--     local digit, probabilities = cnn.recognize(net, picture)

local st = require "strided"

local nn = st.nn

local cnn = {}

cnn.SIDE = 8   -- pixels
cnn.BLACK = 16 -- the greatest value of a pixel in the data set

--- A new network. Called with pictures of shape {batch, 1, 8, 8}, from 0 to 1,
-- it returns a logit per digit: {batch, 10}.
-- @tparam[opt=32] integer width the channels of the first layers
-- @treturn table
function cnn.new(width)
  width = width or 32
  local function block(from, to)
    return nn.Sequential {
      nn.Conv2d(from, to, 3, {padding = 1, bias = false}), nn.BatchNorm2d(to),
      nn.ReLU(),
    }
  end
  return nn.Sequential {
    block(1, width), block(width, width), nn.MaxPool2d(2),
    block(width, 2 * width), nn.MaxPool2d(2),
    nn.Flatten(), nn.Dropout(0.3), nn.Linear(2 * width * 2 * 2, 10),
  }
end

--- Loads what examples/cnn.lua saved, ready to be called.
-- @tparam string path
-- @treturn table a network
function cnn.load(path)
  local state = st.load(path)
  local net = cnn.new(state["1.1.weight"].shape[1])
  net:load_state_dict(state)
  return net:eval()
end

--- Recognizes the digit in a picture.
-- @tparam table net in evaluation mode
-- @tparam Tensor picture {8, 8}, from 0 to 1
-- @treturn integer the digit
-- @treturn table the probabilities of the digits from 0 on
function cnn.recognize(net, picture)
  return st.no_grad(st.scope, function()
    local logits = net(picture:view(1, 1, cnn.SIDE, cnn.SIDE))
    local probabilities = logits:softmax(2):view(10)
    return probabilities:argmax():item() - 1, probabilities:totable()
  end)
end

return cnn
