#include "script.h"

#include <assert.h>
#include <string.h>

#include "base/bytes.h"

struct engine_of {
	struct engine engine;
	struct script *script;
	uint32_t host, next;
};

static size_t script_size(const void *cfg)
{
	(void)cfg;
	return sizeof(struct engine_of);
}

static int script_start(struct engine *e, const void *cfg, nsec now)
{
	struct engine_of *me = (struct engine_of *)e;
	const struct script_cfg *c = cfg;

	(void)now;
	me->script = c->script;
	me->host = c->host;
	me->next = 0;
	return 0;
}

static int script_post(struct engine *e, nsec now, const struct op *op)
{
	(void)e;
	(void)now;
	(void)op;
	return -22;
}

static void script_input(struct engine *e, nsec now, const struct rx_pkt *pkts, uint32_t n)
{
	const struct engine_of *me = (const struct engine_of *)e;
	struct script *x = me->script;

	(void)now;
	for (uint32_t i = 0; i < n; i++) {
		const struct rx_pkt *p = &pkts[i];

		assert(x->n_seen[me->host] < SCRIPT_SENDS_MAX * 4);
		x->seen[me->host][x->n_seen[me->host]++] = (struct script_seen){
			.at = sim_now(x->sim),
			.from = p->peer,
			.number = p->head.len >= 8 ? get_be32(p->head.at + 4) : 0,
			.bytes = p->head.len + p->body[0].len + p->body[1].len,
			.udp_len = p->udp_len,
			.ecn = p->ecn,
			.trimmed = p->trimmed,
			.dscp = p->dscp,
			.port = p->port,
			.ttl = p->ttl,
			.ev = p->ev,
		};
	}
}

static const struct script_send *next_send(const struct engine_of *me)
{
	if (me->next == me->script->n_sends[me->host])
		return NULL;
	return &me->script->sends[me->host][me->next];
}

static bool may_go(const struct script_send *s, uint32_t may)
{
	enum engine_tclass tclass = s->tclass < ENGINE_TCLASSES ? s->tclass : ENGINE_DATA;

	return engine_ports_of(may, tclass) >> s->port & 1;
}

static uint32_t script_pull(struct engine *e, nsec now, const struct engine_room *room,
			    struct tx_pkt *pkts, uint32_t n)
{
	struct engine_of *me = (struct engine_of *)e;
	struct engine_room left = *room;
	uint32_t got = 0;

	for (const struct script_send *s = next_send(me); s && got < n; s = next_send(me)) {
		struct tx_pkt *p = &pkts[got];

		if (s->at > now || !may_go(s, engine_may(&left)))
			break;
		left.pkts[s->port]--;
		memset(p->head, 0, SCRIPT_HEAD);
		p->head[0] = 0xc7; /* some MRC data */
		put_be32(p->head + 4, me->next);
		p->head_len = SCRIPT_HEAD;
		p->udp_len = 0;
		p->port = s->port;
		p->tclass = s->tclass;
		p->not_ect = s->not_ect;
		p->peer = s->to;
		p->ev = s->ev;
		p->n_body = 1;
		p->body[0] = (struct cspan){NULL, s->payload};
		me->next++;
		got++;
	}
	return got;
}

static uint32_t script_poll(struct engine *e, struct done *done, uint32_t n)
{
	(void)e;
	(void)done;
	(void)n;
	return 0;
}

static nsec script_deadline(const struct engine *e, uint32_t may)
{
	const struct script_send *s = next_send((const struct engine_of *)e);

	return s && may_go(s, may) ? s->at : NSEC_NEVER;
}

static const struct engine_ops script_ops = {
	.size = script_size,
	.init = script_start,
	.post = script_post,
	.input = script_input,
	.pull = script_pull,
	.poll = script_poll,
	.deadline = script_deadline,
};

static const void *host_cfg(void *context, uint32_t host, uint64_t seed)
{
	struct script *x = context;

	(void)seed;
	x->host_cfg = (struct script_cfg){x, host};
	return &x->host_cfg;
}

static void no_done(void *context, struct sim *s, uint32_t host, const struct done *done)
{
	(void)context;
	(void)s;
	(void)host;
	(void)done;
}

void script_init(struct script *x)
{
	memset(x, 0, sizeof *x);
	x->transport = (struct sim_transport){
		.name = "script",
		.ops = &script_ops,
		.carrier = &carrier_roce,
		.head_bytes = SCRIPT_HEAD,
		.payload_bytes = 4096,
		.data_head_bytes = SCRIPT_HEAD + 4,
		.ack_bytes = SCRIPT_HEAD + 4,
		.context = x,
		.host_cfg = host_cfg,
	};
	x->hooks = (struct sim_hooks){.done = no_done};
}

void script_add(struct script *x, uint32_t host, const struct script_send *send, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		assert(x->n_sends[host] < SCRIPT_SENDS_MAX);
		x->sends[host][x->n_sends[host]++] = *send;
	}
}

uint32_t script_frame_bytes(uint32_t payload)
{
	return 14 + 40 + 8 + SCRIPT_HEAD + payload + 4;
}
