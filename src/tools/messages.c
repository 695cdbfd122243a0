#include "tools/messages.h"

#include <string.h>

#include "base/crc32.h"
#include "base/serial.h"

static void name_of(const struct wire_packet *pkt, struct message_name *name)
{
	const struct net_ip *ip = net_ip(&pkt->net);

	memset(name, 0, sizeof *name);
	if (ip->version == 4) {
		memcpy(name->src, &ip->v4.src, sizeof ip->v4.src);
		memcpy(name->dst, &ip->v4.dst, sizeof ip->v4.dst);
	} else {
		memcpy(name->src, ip->v6.src, sizeof name->src);
		memcpy(name->dst, ip->v6.dst, sizeof name->dst);
	}
	name->dest_qp = pkt->mrc.bth.dest_qp;
	name->msn = pkt->mrc.meth.msn;
}

static bool is_last(const struct mrc_pkt *m)
{
	return m->bth.opcode == MRC_OP_WRITE_LAST || m->bth.opcode == MRC_OP_WRITE_LAST_IMM;
}

/* How many packets m stands behind the one that is remembered; negative: before it. */
static int32_t distance(const struct message *kept, const struct mrc_pkt *m)
{
	return psn24_diff(psn24_of(m->bth.psn), psn24_of(kept->psn));
}

/* Numbers of queue pairs and messages come again. It is another message where the PSNs are further
 * apart than this one is long, and when it is begun anew without being sent again. */
static bool is_same(const struct message *kept, const struct message_name *name,
		    const struct mrc_pkt *m)
{
	const int64_t least_pmtu = 256;
	int64_t apart = distance(kept, m);

	if (!kept->is_used || memcmp(&kept->name, name, sizeof *name) != 0)
		return false;
	if (m->bth.opcode == MRC_OP_WRITE_FIRST && !m->bth.rtx && kept->has_first)
		return false;
	return (apart < 0 ? -apart : apart) <= kept->dmalen / least_pmtu;
}

static struct message_facts compare(const struct message *kept, const struct mrc_pkt *m)
{
	uint32_t own_pmtu = is_last(m) ? 0 : m->payload.len;
	uint32_t pmtu = kept->pmtu ? kept->pmtu : own_pmtu;
	int64_t ahead = (int64_t)distance(kept, m) * pmtu;

	return (struct message_facts){
		.is_rkey_other = m->reth.rkey != kept->rkey,
		.is_dmalen_other = m->reth.dmalen != kept->dmalen,
		.is_pmtu_other = own_pmtu && own_pmtu != pmtu,
		.is_va_off = m->reth.va != kept->va + (uint64_t)ahead,
		.is_tail_off = is_last(m) && pmtu && m->reth.dmalen &&
			       m->payload.len != (m->reth.dmalen - 1) % pmtu + 1,
	};
}

static struct message_facts note_data(struct messages *all, const struct wire_packet *pkt)
{
	const struct mrc_pkt *m = &pkt->mrc;
	struct message_facts facts = {0};
	struct message_name name;

	name_of(pkt, &name);
	struct message *kept = &all->kept[crc32_update(0, &name, sizeof name) % MESSAGES_KEPT];

	if (is_same(kept, &name, m))
		facts = compare(kept, m);
	else
		*kept = (struct message){true,       false,        name,           m->reth.va,
					 m->bth.psn, m->reth.rkey, m->reth.dmalen, 0};
	if (!kept->pmtu && !is_last(m))
		kept->pmtu = m->payload.len;
	kept->has_first |= m->bth.opcode == MRC_OP_WRITE_FIRST;
	return facts;
}

static bool is_answer(const struct mrc_pkt *m)
{
	return m->bth.opcode == MRC_OP_ACKNOWLEDGE || m->bth.opcode == MRC_OP_SACK ||
	       m->bth.opcode == MRC_OP_NACK;
}

static bool is_status(const struct mrc_pkt *m)
{
	return (m->has & MRC_ERTH && m->erth.op == MRC_ENDPOINT_PORT_STATUS) ||
	       (m->has & MRC_EETH && m->eeth.op == MRC_ENDPOINT_PORT_STATUS);
}

struct message_facts messages_note(struct messages *all, const struct wire_packet *pkt)
{
	const uint16_t whole = MRC_METH | MRC_RETH | MRC_PAYLOAD;
	const struct mrc_pkt *m = &pkt->mrc;
	uint64_t class = UINT64_C(1) << net_dscp(&pkt->net);

	if (m->bth.opcode < MRC_OP_ACKNOWLEDGE)
		all->data_dscps |= class;
	if ((m->has & whole) == whole && m->bth.opcode < MRC_OP_WRITE_ONLY)
		return note_data(all, pkt);
	bool is_shared = all->data_dscps & class;

	return (struct message_facts){.is_answer_in_data_class = is_shared && is_answer(m),
				      .is_status_in_data_class = is_shared && is_status(m)};
}
