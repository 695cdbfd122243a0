-- Wireshark dissectors for the transports of weft: today MRC, beside plain RoCE on UDP port 4791,
-- and for what End.MT says in segment routing headers.
--
--	tshark -X lua_script:extras/wireshark/weft.lua -r capture.pcap
--
-- weft/engine.lua knows how to show headers and nothing of any transport; weft/mrc.lua is one
-- transport as tables. Another transport is one more such file and one more line at the end.
-- weft/endmt.lua is no transport and stands by itself.
-- The files in weft/ only return tables: a plugin directory that loads them on its own is harmless.

local here = debug.getinfo(1, "S").source:match("^@(.*[/\\])") or "./"

-- Once is enough, also where a plugin directory offers this file under two names.
if _G.weft_is_loaded then
	return
end
_G.weft_is_loaded = true

local function part(name)
	return dofile(here .. "weft/" .. name .. ".lua")
end

local engine = part("engine")
local crc32 = part("crc32")

engine.register(part("mrc"), crc32)
part("endmt").register()
