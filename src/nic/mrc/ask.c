/* Questions to peers as such (MRC 7.3), many in one call.
 *
 * They go out by and by: some at once, so that they do not wait for each other in our own queues
 * and round trips come out too long, and more as answers come, or as it becomes clear that none
 * will. Whoever asks sleeps meanwhile; the device's thread gets the answers, or one who polls. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "nic/mrc/inside.h"
#include "wire/mrc.h"

#define PING_NS    UINT64_C(500000000) /* for so long nic_mrc_ping waits for an answer */
#define ASK_MOST   65536u              /* questions of one call */
#define OUT_MOST   192u                /* of them without an answer: the engine has 256 for all */
#define YOUNG_MOST 4u                  /* asked a moment ago, ... */
#define YOUNG_NS   UINT64_C(2000000)   /* ... which is so long at most */
#define LOOK_NS    UINT64_C(500000)    /* between two looks whether more can be asked */
#define WARM_NS    UINT64_C(5000000)   /* for so long a next hop is looked for, ... */
#define SEGMENT_NS UINT64_C(5000000)   /* ... and the one of a segment, of which nobody tells */
#define DSCPS      64u

enum { NOT_ASKED, IS_OUT, IS_OVER };

struct asked {
	struct mrc_endpoint what;
	struct encap_segments segments; /* n is 0: none */
	nsec at;
	uint8_t state;
};

/* One call. The device has it while it lasts; its number is in the cookies. */
struct ask {
	struct ask *next;
	uint32_t number;
	struct asked *asked;
	uint32_t n, n_asked, n_out, oldest; /* before oldest, none is out */
	struct nic_mrc_answer *answers;
	uint32_t n_answers;
	nsec young_ns, full_timeout_ns; /* full: of one that keeps others from being asked */
};

/* The two ends of some questions, open while they are asked. */
struct ends {
	const uint8_t *sgid, *dgid;
	struct addr_pair addrs;
};

/* ---- one call, as its questions go out and their answers come ----------------------------------
 */

/* Which shard asks for the device, and has the addresses of those that were asked open. */
static struct shard *asker(const struct device *d)
{
	WITH_ONE_SHARD("what is asked, by whichever queue pair, has the lock of this one");
	return device_shard(d, 0);
}

/* A value that stands for one list of segments and no other. */
static uint32_t next_alone(struct device *d)
{
	return DRIVER_EV_ALONE + mrc_device_of(d)->last_alone++ % 0x10000u;
}

static void drop_segments(struct shard *s, const struct asked *q)
{
	const struct encap_segments none = {.n = 0};

	if (q->segments.n)
		driver_peer_segments(s->io, q->what.peer, q->what.ev.port, q->what.ev.value, &none);
}

static void end_question(struct shard *s, struct ask *a, struct asked *q)
{
	drop_segments(s, q);
	q->state = IS_OVER;
	a->n_out--;
}

void mrc_answered(struct shard *s, const struct mrc_endpoint_done *done)
{
	struct ask *a = mrc_device_of(s->device)->asks;

	while (a && a->number != done->cookie >> 32)
		a = a->next;
	/* Whose asker has given up by now. */
	if (!a)
		return;
	struct asked *q = &a->asked[(uint32_t)done->cookie];

	if (q->state != IS_OUT)
		return;
	end_question(s, a, q);
	if (done->news == MRC_ENDPOINT_ANSWERED)
		a->answers[a->n_answers++] = (struct nic_mrc_answer){
			.question = (uint32_t)done->cookie,
			.port = done->port,
			.is_adjusted = done->is_adjusted,
			.rtt_ns = done->rtt_ns,
		};
	pthread_cond_broadcast(&s->answered);
}

/* Sends the next one. 0, or -ENOMEM: the engine has no room for it. An EV that the driver has no
 * room for is one that gives no answer. */
static int ask_next(struct shard *s, struct ask *a, nsec now)
{
	struct asked *q = &a->asked[a->n_asked];
	int r = 0;

	if (q->segments.n) {
		q->what.ev.value = next_alone(s->device);
		r = driver_peer_segments(s->io, q->what.peer, q->what.ev.port, q->what.ev.value,
					 &q->segments);
	}
	if (r) {
		q->segments.n = 0;
		q->state = IS_OVER;
		a->n_asked++;
		return 0;
	}
	r = mrc_endpoint_post(s->engine, now, &q->what);
	if (r) {
		drop_segments(s, q);
		return r;
	}
	q->at = now;
	q->state = IS_OUT;
	a->n_asked++;
	a->n_out++;
	return 0;
}

static void give_up(struct shard *s, struct ask *a, uint32_t i)
{
	struct asked *q = &a->asked[i];

	if (q->state != IS_OUT)
		return;
	mrc_endpoint_forget(s->engine, q->what.cookie);
	end_question(s, a, q);
}

static uint32_t count_young(const struct ask *a, nsec now)
{
	uint32_t n = 0;

	for (uint32_t i = a->n_asked; i > 0 && a->asked[i - 1].at + a->young_ns > now; i--)
		n += a->asked[i - 1].state == IS_OUT;
	return n;
}

/* Asks as many as may be out now. */
static int feed(struct shard *s, struct ask *a)
{
	nsec now = shard_catch_up(s);
	int r = 0;

	/* Once all places are taken, those make room that had their time. */
	bool is_full = a->n_asked < a->n && a->n_out == OUT_MOST;

	for (; a->oldest < a->n_asked; a->oldest++) {
		if (is_full && a->asked[a->oldest].at + a->full_timeout_ns < now)
			give_up(s, a, a->oldest);
		if (a->asked[a->oldest].state == IS_OUT)
			break;
	}
	while (!r && a->n_asked < a->n && a->n_out < OUT_MOST && count_young(a, now) < YOUNG_MOST)
		r = ask_next(s, a, now);
	shard_flush(s);
	return a->n_asked == 0 ? r : 0;
}

/* Rounds of so many questions at a time fit into the time there is. */
static nsec share_of(nsec timeout_ns, uint32_t n, uint32_t at_a_time)
{
	return timeout_ns / (n / at_a_time + 2);
}

/* Asks, and waits until all was answered or time is up. 0 or -EAGAIN. */
static int run(struct shard *s, struct ask *a, nsec timeout_ns)
{
	nsec until = device_now() + timeout_ns;
	nsec young = share_of(timeout_ns, a->n, YOUNG_MOST) / 2;

	a->young_ns = young < YOUNG_NS ? young : YOUNG_NS;
	a->full_timeout_ns = share_of(timeout_ns, a->n, OUT_MOST);
	a->number = ++mrc_device_of(s->device)->last_ask;
	for (uint32_t i = 0; i < a->n; i++)
		a->asked[i].what.cookie = (uint64_t)a->number << 32 | i;
	a->next = mrc_device_of(s->device)->asks;
	mrc_device_of(s->device)->asks = a;
	int r = feed(s, a);

	for (nsec now = device_now(); !r && now < until && (a->n_out || a->n_asked < a->n);
	     now = device_now()) {
		nsec look = a->n_asked < a->n && now + LOOK_NS < until ? now + LOOK_NS : until;

		shard_wait(s, look);
		r = feed(s, a);
	}
	for (uint32_t i = a->oldest; i < a->n_asked; i++)
		give_up(s, a, i);
	struct ask **at = &mrc_device_of(s->device)->asks;

	while (*at != a)
		at = &(*at)->next;
	*at = a->next;
	return r ? nic_fail(EAGAIN, "%s: too many questions are out", s->device->info.name) : 0;
}

/* ---- what is asked, by which EV ---------------------------------------------------------------
 */

/* Its place in the table, or -EINVAL. */
static int find_gid(const struct device *d, const uint8_t gid[16])
{
	for (uint32_t i = 0; i < d->info.n_gids; i++)
		if (d->info.gids[i].address.ss_family != AF_UNSPEC &&
		    !memcmp(d->info.gids[i].raw, gid, 16))
			return (int)i;
	return nic_fail(EINVAL, "%s has no such address of its own", d->info.name);
}

/* The handles of a question's ends; those that an earlier one named are open already. */
static int open_ends(struct shard *s, const struct nic_mrc_question *q, struct ends *ends,
		     uint32_t *n, struct addr_pair *addrs)
{
	for (uint32_t i = 0; i < *n; i++)
		if (!memcmp(ends[i].sgid, q->sgid, 16) && !memcmp(ends[i].dgid, q->dgid, 16)) {
			*addrs = ends[i].addrs;
			return 0;
		}
	int index = find_gid(s->device, q->sgid);
	int r = index < 0 ? index
			  : addr_pair_open(s, nic_gid_index((uint32_t)index), q->dgid, addrs);

	if (r)
		return r;
	ends[(*n)++] = (struct ends){q->sgid, q->dgid, *addrs};
	return 0;
}

/* Opens them once more, so that the next call finds the route known; the oldest go. */
static void keep_ends(struct shard *s, const struct ends *e)
{
	struct mrc_device *m = mrc_device_of(s->device);
	struct addr_pair addrs;

	for (uint32_t i = 0; i < MRC_KEPT_ENDS && i < m->n_kept; i++)
		if (!memcmp(m->kept[i].sgid, e->sgid, 16) && !memcmp(m->kept[i].dgid, e->dgid, 16))
			return;
	int index = find_gid(s->device, e->sgid);

	if (index < 0 || addr_pair_open(s, nic_gid_index((uint32_t)index), e->dgid, &addrs))
		return;
	struct mrc_kept_ends *k = &m->kept[m->n_kept % MRC_KEPT_ENDS];

	if (m->n_kept++ >= MRC_KEPT_ENDS)
		addr_pair_close(s, &k->addrs);
	memcpy(k->sgid, e->sgid, 16);
	memcpy(k->dgid, e->dgid, 16);
	k->addrs = addrs;
}

void mrc_forget_ends(struct device *d)
{
	struct mrc_device *m = mrc_device_of(d);

	for (uint32_t i = 0; i < MRC_KEPT_ENDS && i < m->n_kept; i++)
		addr_pair_close(asker(d), &m->kept[i].addrs);
	m->n_kept = 0;
}

static struct encap_segments segments_of(const struct nic_mrc_question *q)
{
	static const uint8_t none[16];
	struct encap_segments s = {.n = memcmp(q->val + 16, none, 16) ? 2 : 1};

	memcpy(s.at[0], q->val, 16);
	memcpy(s.at[1], q->val + 16, 16);
	return s;
}

static int check_question(const struct shard *s, const struct nic_mrc_question *q, uint32_t i)
{
	const struct device *d = s->device;
	static const uint8_t v4[12] = {[10] = 0xff, [11] = 0xff};

	if (q->port >= d->n_ports)
		return nic_fail(EINVAL, "question %u: %s has no port %u", i, d->info.name, q->port);
	if (q->op > MRC_ENDPOINT_EV_PROBE || q->dscp >= DSCPS || q->wide > CONTROL_UDP)
		return nic_fail(EINVAL, "question %u: no such operation, DSCP or format", i);
	if (q->wide != CONTROL_SRV6)
		return 0;
	if (!s->io->ops->peer_segments)
		return nic_fail(ENOTSUP, "question %u: SRv6 needs the raw or the xdp driver", i);
	return memcmp(q->dgid, v4, sizeof v4)
		       ? 0
		       : nic_fail(EINVAL, "question %u: SRv6 needs a peer with IPv6", i);
}

/* Fills in what is asked. n_ends: how many are open, also when it fails. */
static int prepare(struct shard *s, const struct nic_mrc_question *questions, struct ask *a,
		   struct ends *ends, uint32_t *n_ends)
{
	int r = 0;

	for (uint32_t i = 0; !r && i < a->n; i++) {
		const struct nic_mrc_question *q = &questions[i];
		struct addr_pair addrs = NO_ADDR_PAIR;

		r = check_question(s, q, i);
		if (!r)
			r = open_ends(s, q, ends, n_ends, &addrs);
		a->asked[i].what = (struct mrc_endpoint){
			.peer = addrs.peer,
			.local = addrs.local,
			.ev = {.port = q->port},
			.op = q->op,
			.tclass = (uint8_t)(ENGINE_DSCP + q->dscp),
			.has_service_time = true,
			.port_status = q->port_status,
		};
		if (q->wide == CONTROL_SRV6)
			a->asked[i].segments = segments_of(q);
		else if (q->wide == CONTROL_UDP)
			a->asked[i].what.ev.value = (uint32_t)get_be16(q->val) << 16;
		else
			a->asked[i].what.ev.value = get_be32(q->val);
	}
	return r;
}

/* The first segments of each port, under values of their own; as many as the bits returned. */
static uint32_t warm_segments(struct shard *s, const struct ask *a, struct asked warm[ENGINE_PORTS])
{
	uint32_t ports = 0;

	for (uint32_t i = 0; i < a->n; i++) {
		const struct asked *q = &a->asked[i];
		uint32_t port = q->what.ev.port;

		if (!q->segments.n || ports >> port & 1)
			continue;
		ports |= UINT32_C(1) << port;
		warm[port] = *q;
		warm[port].what.ev.value = next_alone(s->device);
		driver_peer_segments(s->io, q->what.peer, port, warm[port].what.ev.value,
				     &q->segments);
	}
	return ports;
}

/* A next hop that has not answered yet would cost the first question by it. Of those behind
 * segments nothing is told: they are made known, and have a moment. */
static void warm_up(struct shard *s, const struct ends *ends, uint32_t n_ends, nsec most_ns)
{
	nsec until = device_now() + (most_ns < WARM_NS ? most_ns : WARM_NS);
	char error[NIC_SENTENCE_MAX];

	for (uint32_t i = 0; i < n_ends; i++)
		while (!driver_pmtu(s->io, ends[i].addrs.local, ends[i].addrs.peer, error,
				    sizeof error) &&
		       device_now() < until) {
			shard_step(s, false);
			shard_wait(s, device_now() + LOOK_NS);
		}
}

static int ask_all(struct shard *s, const struct nic_mrc_question *questions, nsec timeout_ns,
		   struct ask *a, struct ends *ends)
{
	struct asked warm[ENGINE_PORTS];
	uint32_t n_ends = 0;
	int r = prepare(s, questions, a, ends, &n_ends);

	if (!r) {
		uint32_t ports = warm_segments(s, a, warm);

		if (ports)
			shard_wait(s, device_now() + SEGMENT_NS);
		else
			warm_up(s, ends, n_ends, timeout_ns / 4);
		r = run(s, a, timeout_ns);
		for (; ports; ports &= ports - 1)
			drop_segments(s, &warm[__builtin_ctz(ports)]);
	}
	while (n_ends > 0) {
		if (!r)
			keep_ends(s, &ends[n_ends - 1]);
		addr_pair_close(s, &ends[--n_ends].addrs);
	}
	return r;
}

int nic_mrc_ask(struct nic_user *u, const struct nic_mrc_question *questions, uint32_t n,
		nsec timeout_ns, struct nic_mrc_answer *answers, uint32_t *n_answers)
{
	struct device *d = u->device;
	struct ask a = {.n = n, .answers = answers};
	int r = device_check_for(d, &transport_mrc);

	*n_answers = 0;
	if (r || !n)
		return r;
	if (n > ASK_MOST)
		return nic_fail(EINVAL, "%u questions at once: %u are possible", n, ASK_MOST);
	a.asked = calloc(n, sizeof *a.asked);
	struct ends *ends = calloc(n, sizeof *ends);

	if (!a.asked || !ends) {
		r = nic_fail(ENOMEM, "no memory for %u questions", n);
	} else {
		struct shard *s = asker(d);

		shard_enter(s);
		u->n_objects++;
		r = ask_all(s, questions, timeout_ns, &a, ends);
		u->n_objects--;
		shard_leave(s);
	}
	free(ends);
	free(a.asked);
	*n_answers = a.n_answers;
	if (r || a.n_answers == n)
		return r;
	return nic_fail(ETIMEDOUT, "%s: %u of %u questions were not answered", d->info.name,
			n - a.n_answers, n);
}

uint32_t nic_mrc_evs(struct nic_user *u, struct nic_mrc_question *evs, uint32_t room)
{
	struct device *d = u->device;

	if (device_check_for(d, &transport_mrc))
		return 0;
	const struct config_setup *s = &d->info.setup;
	const struct path_format format = mrc_format(&s->evs);
	const struct path_set *set = &mrc_device_of(d)->evs->profile.set;
	bool is_srv6 = s->evs.is_generated && format.encoding >= PATH_USID;

	for (uint32_t i = 0; i < set->n && i < room; i++) {
		evs[i] = (struct nic_mrc_question){
			.wide = is_srv6 ? CONTROL_SRV6 : CONTROL_STRUCTURED,
			.port = (uint8_t)set->evs[i].port,
			.op = MRC_ENDPOINT_EV_PROBE,
			.dscp = s->dscp[ENGINE_CONTROL],
		};
		if (is_srv6)
			path_format_value(&format, set->evs[i].value, evs[i].val);
		else
			put_be32(evs[i].val, set->evs[i].value);
	}
	return set->n;
}

int nic_mrc_check_address(struct nic_user *u, uint32_t gid_index)
{
	struct device *d = u->device;
	int r = device_check_for(d, &transport_mrc);

	if (r)
		return r;
	device_enter(d);
	r = gids_hold_one(d, gid_index);
	device_leave(d);
	return r;
}

/* ---- an EV of a queue pair ---------------------------------------------------------------------
 */

static int ping(struct nic_qp *qp, uint32_t ev, struct ask *a)
{
	const struct path_set *set = &mrc_evs_of(qp)->profile.set;
	if (qp->addrs.peer == DRIVER_NO_HANDLE || ev >= set->n)
		return nic_fail(EINVAL, "queue pair %#x is not connected, or has no EV %u",
				qp->number, ev);
	a->asked->what = (struct mrc_endpoint){
		.peer = qp->addrs.peer,
		.local = qp->addrs.local,
		.ev = set->evs[ev],
		.op = MRC_ENDPOINT_EV_PROBE,
		.tclass = ENGINE_CONTROL,
		.has_service_time = true,
	};
	return run(qp->shard, a, PING_NS);
}

int nic_mrc_ping(struct nic_qp *qp, uint32_t ev, nsec *rtt_ns)
{
	struct device *d = qp->user->device;
	struct nic_mrc_answer answer;
	struct asked asked = {.state = NOT_ASKED};
	struct ask a = {.n = 1, .asked = &asked, .answers = &answer};
	int r = device_check_for(d, &transport_mrc);

	if (r)
		return r;
	shard_enter(qp->shard);
	r = ping(qp, ev, &a);
	shard_leave(qp->shard);
	if (!r && !a.n_answers)
		return nic_fail(ETIMEDOUT, "%s: no answer by EV %u", d->info.name, ev);
	if (!r)
		*rtt_ns = answer.rtt_ns;
	return r;
}
