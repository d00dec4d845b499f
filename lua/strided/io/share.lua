--- Tensors for other Lua states of the process.
--
--     channel:push(st.share(t))              -- here
--     local t = st.attach(channel:pop())     -- there, in another thread
--
-- What travels is a token, a string. Both sides then have tensors of their
-- own over the same elements; either may outlive the other, and its state.
-- The storage cannot grow any more.
--
-- Nothing but the hand-over itself orders what the threads do: what one wrote
-- before it shared is there after the other attached. While one writes, no
-- other may read or write: it would get any values. Pass tokens, or messages,
-- to say whose turn it is.
--
-- Tokens do not leave the process. A child of a fork has those that were
-- there at the fork, as it has all memory: as copies.
--
-- @module strided.io.share

local core = require "strided.core"

local share = {}

--- Hands a tensor over: its elements, shape and strides as they are now,
-- without gradients. The token keeps the elements alive until it is used up,
-- which `st.memory` counts as "shared".
-- @function share
-- @tparam Tensor t one on the CPU
-- @tparam[opt=1] number|table times how often it may be attached, or
-- `{times = ...}`; `math.huge` for as often as one likes, until `unshare`
-- @treturn string the token
share.share = core.share

--- The tensor that was shared.
-- @function attach
-- @tparam string token an error when it is used up, taken back, of another
-- process, or none
-- @treturn Tensor
share.attach = core.attach

--- Takes a token back, so that nobody can attach it any more. Tensors that
-- were attached stay.
-- @function unshare
-- @tparam string token
-- @treturn boolean whether there was anything left to take back
share.unshare = core.unshare

return share
