-- The Ethernet CRC-32 and, made of it, the invariant CRC of RoCEv2 and MRC packets.

local bits = bit32 or bit
local bxor, band, rshift = bits.bxor, bits.band, bits.rshift

local steps = {}
for i = 0, 255 do
	local c = i
	for _ = 1, 8 do
		if c % 2 == 1 then
			c = bxor(rshift(c, 1), 0xedb88320)
		else
			c = rshift(c, 1)
		end
	end
	steps[i] = c
end

local M = {}

-- The CRC of a string, as a number from 0 to 2^32 - 1.
function M.of(s)
	local c = 0xffffffff
	for i = 1, #s do
		c = bxor(steps[band(bxor(c, s:byte(i)), 0xff)], rshift(c, 8))
	end
	return bxor(c, 0xffffffff) % 2 ^ 32
end

-- s with its bytes from first to last, counted from 0, replaced by ones.
local function masked(s, first, last)
	return s:sub(1, first) .. ("\255"):rep(last - first + 1) .. s:sub(last + 2)
end

-- The invariant CRC of a packet: ip is its innermost IP header without options or extensions,
-- rest what follows from UDP to the end of the padding. What a router may change counts as ones.
-- nil for an IP header of another form.
function M.icrc(ip, rest)
	if #ip == 20 and ip:byte(1) == 0x45 then
		ip = masked(ip, 1, 1) -- type of service
		ip = masked(ip, 8, 8) -- time to live
		ip = masked(ip, 10, 11) -- header checksum
	elseif #ip == 40 and rshift(ip:byte(1), 4) == 6 then
		ip = string.char(0x6f) .. masked(ip, 1, 3):sub(2) -- traffic class and flow label
		ip = masked(ip, 7, 7) -- hop limit
	else
		return nil
	end
	rest = masked(rest, 6, 7) -- UDP checksum
	rest = masked(rest, 12, 12) -- the reserved byte of BTH that is not covered
	return M.of(("\255"):rep(8) .. ip .. rest)
end

return M
