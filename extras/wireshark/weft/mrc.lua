-- OCP Multipath Reliable Connection 1.0 as tables: sections 6.2.2, 7.5.5 and 7.5.6. Ids such as
-- M-13 name places where the text is open; docs/wire-notes.md has them.

local OPCODES = {
	[0xc6] = "WRITE First",
	[0xc7] = "WRITE Middle",
	[0xc8] = "WRITE Last",
	[0xc9] = "WRITE Last Imm",
	[0xca] = "WRITE Only",
	[0xcb] = "WRITE Only Imm",
	[0xd1] = "Acknowledge",
	[0xd8] = "Endpoint Request",
	[0xd9] = "Endpoint Response",
	[0xdc] = "SACK",
	[0xdd] = "NACK",
	[0xde] = "Probe Request",
}
local SYNDROME_TYPES = {[0] = "ACK", [1] = "RNR NAK", [2] = "Reserved", [3] = "NAK"}
local SYNDROMES = {
	[0x1f] = "ACK",
	[0x60] = "NAK PSN sequence error",
	[0x61] = "NAK invalid request",
	[0x62] = "NAK remote access error",
	[0x63] = "NAK remote operational error",
	[0x64] = "NAK invalid RD request",
}
local MARKS = {[0] = "NONE", [1] = "SKIP", [2] = "ALWAYS_SKIP", [3] = "Reserved"}
local NACKS = {
	[0x01] = "TRIMMED",
	[0x02] = "TRIMMED_LASTHOP",
	[0x06] = "NO_BITMAP",
	[0x07] = "NO_PKT_BUFFER",
	[0x0a] = "NO_RESOURCE",
	[0x0b] = "PSN_OOR_WINDOW",
	[0x19] = "UNEXP_EVENT",
}
local ENDPOINT_OPS = {[0] = "Port Status Update", [1] = "EV Probe"}
local RESOLUTIONS = {[0] = "128 ns", [1] = "Implementation defined"}
local FTYPES = {[1] = "Timestamp carried"}
local CC_TYPES = {[0] = "Window state", [2] = "Timestamp"}
local HEX = base.HEX

local headers = {}

headers.bth = {
	text = "Base transport header (BTH)", bytes = 12,
	{"opcode", 0, 8, "Opcode", base = HEX, values = OPCODES},
	{"se", 8, 1, "Solicited event"},
	{"m", 9, 1, "Migration request"},
	{"pad", 10, 2, "Pad count"},
	{"tver", 12, 4, "Version"},
	{"pkey", 16, 16, "Partition key", base = HEX},
	{"rsv_var", 32, 8, "Variant reserved", base = HEX},
	{"dest_qp", 40, 24, "Destination QP", base = HEX},
	{"ack_req", 64, 1, "Acknowledge request"},
	{"rsv0", 65, 1},
	{"rtx", 66, 1, "Retransmission"},
	{"ts", 67, 1, "TSETH present"},
	{"rsv_inv", 68, 4, "Invariant reserved"},
	{"psn", 72, 24, "Packet sequence number"},
}

headers.meth = {
	text = "Message header (METH)", bytes = 4,
	{"rqmsn", 0, 16, "WriteImm message number"},
	{"msn", 16, 16, "Message sequence number"},
}

headers.tseth = {
	text = "Timestamp header (TSETH)", bytes = 4,
	{"tx_timestamp", 0, 16, "Transmit timestamp"},
	{"tsr", 16, 1, "Timestamp resolution", values = RESOLUTIONS},
	{"rsv0", 17, 11},
	{"ftype", 28, 4, "Format", values = FTYPES},
}

headers.reth = {
	text = "RDMA header (RETH)", bytes = 16,
	{"va", 0, 64, "Virtual address"},
	{"rkey", 64, 32, "Remote key"},
	{"dmalen", 96, 32, "DMA length", base = base.DEC},
}

headers.immdt = {
	text = "Immediate data (ImmDt)", bytes = 4,
	{"immdt", 0, 32, "Immediate data"},
}

headers.aeth = {
	text = "Acknowledge header (AETH)", bytes = 4,
	{"rsv0", 0, 1},
	{"type", 1, 2, "Syndrome type", values = SYNDROME_TYPES},
	{"value", 3, 5, "Syndrome value"},
	{"msn", 8, 24, "Message sequence number"},
}

headers.seth = {
	text = "Selective acknowledge header (SETH)", bytes = 28,
	{"rsv_type", 0, 4},
	{"rsv_nh", 4, 5},
	{"m", 9, 2, "Path mark", values = MARKS},
	{"rsv0", 11, 1},
	{"rsv1", 12, 1},
	{"rsv2", 13, 1},
	{"pr", 14, 1, "Probe response"},
	{"rsv3", 15, 1},
	{"ack_psn_offset", 16, 16, "ACK PSN offset"},
	{"entropy", 32, 32, "Reflected entropy"},
	{"spdcid", 64, 16, "Source QP, low 16 bits", base = HEX},
	{"dpdcid", 80, 16, "Destination QP, low 16 bits", base = HEX},
	{"rsv4", 96, 8},
	{"cack_psn", 104, 24, "Cumulative ACK PSN"},
	{"cc_type", 128, 4, "Congestion state type", values = CC_TYPES},
	{"cc_fl", 132, 4, "Congestion state flags"},
	{"mpr", 136, 8, "Maximum PSN range, in 128 packets"},
	{"sack_offset", 144, 16, "SACK bitmap offset"},
	{"sack_bitmap", 160, 64, "SACK bitmap"},
}

headers.cc_state = {
	text = "Congestion state (CC_STATE)", bytes = 8,
	{"tx_timestamp", 0, 16, "Timestamp or service time"},
	{"rsv0", 16, 1},
	{"ooo_count", 17, 15, "Packets received above the cumulative ACK"},
	{"restore_cwnd", 32, 1, "Restore window"},
	{"rcv_cwnd_pen", 33, 7, "Receiver window penalty"},
	{"rcvd_bytes", 40, 24, "Received bytes, in 256"},
}

headers.neth = {
	text = "Negative acknowledge header (NETH)", bytes = 20,
	{"rsv_type", 0, 4},
	{"rsv_nxt", 4, 5},
	{"rsv0", 9, 7},
	{"nack_reason", 16, 8, "Reason", base = HEX, values = NACKS},
	{"vendor_info", 24, 8, "Vendor information", base = HEX},
	{"entropy", 32, 32, "Reflected entropy"},
	{"spdcid", 64, 16, "Source QP, low 16 bits", base = HEX},
	{"dpdcid", 80, 16, "Destination QP, low 16 bits", base = HEX},
	{"rsv1", 96, 8},
	{"nack_psn", 104, 24, "PSN"},
	{"cc_type", 128, 4, "Congestion state type", values = CC_TYPES},
	{"cc_fl", 132, 4, "Congestion state flags"},
	{"rsv2", 136, 8},
	{"tx_timestamp", 144, 16, "Timestamp"},
}

headers.peth = {
	text = "Probe header (PETH)", bytes = 16,
	{"rsv_type", 0, 4},
	{"rsv_nh", 4, 5},
	{"rsv0", 9, 7},
	{"rsv1", 16, 8},
	{"vendor_info", 24, 8, "Vendor information", base = HEX},
	{"probe_id", 32, 16, "Probe id", base = HEX},
	{"rsv2", 48, 16},
	{"spdcid", 64, 16, "Source QP, low 16 bits", base = HEX},
	{"dpdcid", 80, 16, "Destination QP, low 16 bits", base = HEX},
	{"tx_timestamp", 96, 16, "Transmit timestamp"},
	{"tsr", 112, 1, "Timestamp resolution", values = RESOLUTIONS},
	{"rsv3", 113, 11},
	{"ftype", 124, 4, "Format", values = FTYPES},
}

headers.erth = {
	text = "Endpoint request header (ERTH)", bytes = 16,
	{"rsv_type", 0, 4},
	{"rsv_nh", 4, 5},
	{"rsv0", 9, 5},
	{"op", 14, 2, "Operation", values = ENDPOINT_OPS},
	{"rsv1", 16, 8},
	{"vendor_info", 24, 8, "Vendor information", base = HEX},
	{"port_status_mask", 32, 32, "Port status"},
	{"rsv2", 64, 32},
	{"tx_timestamp", 96, 16, "Transmit timestamp"},
	{"tsr", 112, 1, "Timestamp resolution", values = RESOLUTIONS},
	{"rsv3", 113, 11},
	{"ftype", 124, 4, "Format", values = FTYPES},
}

-- The operation is two bits higher than in the request (M-11).
headers.eeth = {
	text = "Endpoint response header (EETH)", bytes = 36,
	{"rsv_type", 0, 4},
	{"rsv_nh", 4, 5},
	{"rsv0", 9, 3},
	{"op", 12, 2, "Operation", values = ENDPOINT_OPS},
	{"rsv1", 14, 2},
	{"rsv2", 16, 16},
	{"rsv3", 32, 32},
	{"rsv4", 64, 32},
	{"rsv5", 96, 32},
	{"rsv6", 128, 32},
	{"rsv7", 160, 32},
	{"rsv8", 192, 32},
	{"tx_timestamp", 224, 16, "Timestamp or service time"},
	{"rsv9", 240, 16},
	{"rsv10", 256, 32},
}

local TSETH = {"tseth", when = function(v) return v.bth.ts == 1 end}

local packets = {
	[0xc6] = {OPCODES[0xc6], {"meth", TSETH, "reth"}, payload = true},
	[0xc7] = {OPCODES[0xc7], {"meth", TSETH, "reth"}, payload = true},
	[0xc8] = {OPCODES[0xc8], {"meth", TSETH, "reth"}, payload = true},
	[0xc9] = {OPCODES[0xc9], {"meth", TSETH, "reth", "immdt"}, payload = true},
	[0xca] = {OPCODES[0xca], {"meth", TSETH, "reth"}, payload = true},
	[0xcb] = {OPCODES[0xcb], {"meth", TSETH, "reth", "immdt"}, payload = true},
	[0xd1] = {OPCODES[0xd1], {"aeth"}},
	[0xd8] = {OPCODES[0xd8], {"erth"}},
	[0xd9] = {OPCODES[0xd9], {"eeth"}},
	[0xdc] = {OPCODES[0xdc], {"seth", "cc_state"}},
	[0xdd] = {OPCODES[0xdd], {"neth"}},
	[0xde] = {OPCODES[0xde], {"peth"}},
}

local derived = {
	["seth.ack_psn"] = {"Acknowledged PSN", "uint24", base = base.DEC},
	["seth.probe_id"] = {"Probe id", "uint16", base = HEX},
	["seth.sack_base"] = {"First PSN of the bitmap", "uint24", base = base.DEC},
	["seth.sacked"] = {"Received PSN", "uint24", base = base.DEC},
	["seth.entropy.udp_sport"] = {"UDP source port", "uint16", base = base.DEC},
	["seth.entropy.flow_label"] = {"Flow label, low 16 bits", "uint16", base = HEX},
	["neth.entropy.udp_sport"] = {"UDP source port", "uint16", base = base.DEC},
	["neth.entropy.flow_label"] = {"Flow label, low 16 bits", "uint16", base = HEX},
	["seth.mpr.packets"] = {"Packets", "uint16", base = base.DEC},
	["cc_state.rcvd_bytes.bytes"] = {"Bytes", "uint32", base = base.DEC},
	["aeth.syndrome"] = {"Syndrome", "uint8", base = HEX, values = SYNDROMES},
	["bth.endpoint_id"] = {"Endpoint operation id", "uint16", base = HEX},
}

-- cack_psn plus a signed 16-bit offset, modulo 2^24
local function psn_at(cack_psn, offset)
	if offset >= 0x8000 then
		offset = offset - 0x10000
	end
	return (cack_psn + offset) % 0x1000000
end

-- The PSNs whose bit is set; bit 0 is the base. The bitmap is a 64-bit object, taken in halves.
local function sacked(seth)
	local first, list = psn_at(seth.cack_psn, seth.sack_offset), {}
	local halves = {seth.sack_bitmap:lower(), seth.sack_bitmap:higher()}
	for i = 0, 63 do
		if math.floor(halves[i < 32 and 1 or 2] / 2 ^ (i % 32)) % 2 == 1 then
			table.insert(list, (first + i) % 0x1000000)
		end
	end
	return list
end

local function note_entropy(name, header, add)
	add("entropy", name .. ".entropy.udp_sport", math.floor(header.entropy / 0x10000))
	add("entropy", name .. ".entropy.flow_label", header.entropy % 0x10000)
end

local notes = {}

function notes.bth(v, add)
	if v.bth.opcode == 0xd8 or v.bth.opcode == 0xd9 then
		add("psn", "bth.endpoint_id", v.bth.psn % 0x10000)
	end
end

function notes.aeth(v, add)
	add("value", "aeth.syndrome", v.aeth.type * 32 + v.aeth.value)
end

function notes.seth(v, add)
	local seth = v.seth
	if seth.pr == 1 then
		add("ack_psn_offset", "seth.probe_id", seth.ack_psn_offset)
	else
		add("ack_psn_offset", "seth.ack_psn", psn_at(seth.cack_psn, seth.ack_psn_offset))
	end
	note_entropy("seth", seth, add)
	add("mpr", "seth.mpr.packets", seth.mpr * 128)
	add("sack_offset", "seth.sack_base", psn_at(seth.cack_psn, seth.sack_offset))
	for _, psn in ipairs(sacked(seth)) do
		add("sack_bitmap", "seth.sacked", psn)
	end
end

function notes.neth(v, add)
	note_entropy("neth", v.neth, add)
end

function notes.cc_state(v, add)
	add("rcvd_bytes", "cc_state.rcvd_bytes.bytes", v.cc_state.rcvd_bytes * 256)
end

-- The words of the Info column after name and QP, by the header that says most.
local summaries = {}

function summaries.meth(v, add)
	add("psn " .. v.bth.psn)
	add("msn " .. v.meth.msn)
	if v.reth then
		add(string.format("va 0x%s rkey 0x%08x", v.reth.va:tohex(), v.reth.rkey))
	end
	if v.immdt then
		add(string.format("imm 0x%08x", v.immdt.immdt))
	end
end

function summaries.aeth(v, add)
	local syndrome = v.aeth.type * 32 + v.aeth.value
	add("psn " .. v.bth.psn)
	add(SYNDROMES[syndrome] or string.format("syndrome 0x%02x", syndrome))
	add("msn " .. v.aeth.msn)
end

function summaries.seth(v, add)
	local seth = v.seth
	add("cack " .. seth.cack_psn)
	if seth.pr == 1 then
		add(string.format("probe 0x%04x", seth.ack_psn_offset))
	else
		add("ack " .. psn_at(seth.cack_psn, seth.ack_psn_offset))
	end
	if seth.m ~= 0 then
		add(MARKS[seth.m])
	end
	local list = sacked(seth)
	if #list > 0 then
		add(string.format("sacked %d from %d", #list, list[1]))
	end
end

function summaries.neth(v, add)
	local reason = v.neth.nack_reason
	add("psn " .. v.neth.nack_psn)
	add(NACKS[reason] or string.format("reason 0x%02x", reason))
end

function summaries.peth(v, add)
	add(string.format("probe 0x%04x", v.peth.probe_id))
end

local function endpoint(header, v, add)
	add(string.format("id 0x%04x", v.bth.psn % 0x10000))
	add(ENDPOINT_OPS[header.op] or "operation " .. header.op)
end

function summaries.erth(v, add)
	endpoint(v.erth, v, add)
	if v.erth.op == 0 then
		add(string.format("ports 0x%08x", v.erth.port_status_mask))
	end
end

function summaries.eeth(v, add)
	endpoint(v.eeth, v, add)
end

return {
	name = "mrc",
	title = "Multipath Reliable Connection",
	udp_port = 4791,
	headers = headers,
	base = "bth",
	kind = "opcode",
	packets = packets,
	version = {"bth", "tver", 0},
	derived = derived,
	-- A switch leaves BTH of a data packet, and should leave METH and TSETH (M-27, M-49).
	trim_cuts = {meth = true, tseth = true, reth = true, immdt = true},

	-- The upper three bits of an MRC opcode are 110; every other one is InfiniBand's.
	is_ours = function(opcode)
		return opcode >= 0xc0 and opcode <= 0xdf
	end,

	-- The NACK for a trimmed packet carries that packet's UDP length (M-13).
	length_is_original = function(v)
		return v.neth ~= nil and (v.neth.nack_reason == 1 or v.neth.nack_reason == 2)
	end,

	note = function(header, v, add)
		if notes[header] then
			notes[header](v, add)
		end
	end,

	summary = function(v, add)
		add(string.format("QP 0x%06x", v.bth.dest_qp))
		if v.bth.rtx == 1 then
			add("rtx")
		end
		for header, words in pairs(summaries) do
			if v[header] then
				words(v, add)
			end
		end
	end,
}
