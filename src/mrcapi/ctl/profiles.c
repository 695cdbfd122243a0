/* The exported functions on ports and profiles: who may call them, and which of ctl.h they are. */
#include "mrcapi/ctl/inside.h"

int ctl_check(const struct mrc_context *context)
{
	if (!context)
		return -EINVAL;
	return ctl_may() ? nic_fail(EPERM, "controlling a device needs CAP_NET_ADMIN: run the "
					   "controller as root, or give it that capability")
			 : 0;
}

int ctl_find_place(struct nic_user *user, struct ctl_place *place)
{
	struct nic_info info;
	int error = nic_query(user, &info);

	if (error)
		return error;
	place->device = (struct ctl_device){
		.n_ports = info.n_ports,
		.has_segments = info.setup.driver != CONFIG_UDP,
	};
	return nic_mrc_store_name(user, place->name);
}

int ctl_with_sentence(int error, const struct ctl_place *place)
{
	const char *where = store_directory();

	switch (error) {
	case -EIO:
		return nic_fail(EIO,
				"the device's state, %s.state in %s, cannot be read or "
				"written: remove it if it is damaged",
				place->name, where);
	case -EPERM:
		return nic_fail(EPERM,
				"the device's state in %s belongs to another user: control "
				"the device as that one",
				where);
	case -EAGAIN:
		return nic_fail(EAGAIN, "another controller has kept the device's state for "
					"seconds: try again, or end that one");
	default: return error;
	}
}

/* call has either modify or query. */
static int serve(struct mrc_context *context, const struct ctl_call *call, void *attr)
{
	struct ctl_place place;
	int error = ctl_check(context);

	if (!error && !attr)
		error = -EINVAL;
	if (!error)
		error = ctl_find_place(context->user, &place);
	if (error)
		return ctl_answer(error);
	error = call->modify ? ctl_place_modify(&place, call, attr)
			     : ctl_place_query(&place, call, attr);
	return ctl_answer(ctl_with_sentence(error, &place));
}

/* The functions of ctl.h with the struct of each as any. */
static int modify_port(struct ctl_edit *e, void *attr)
{
	return ctl_port_modify(e, attr);
}

static int query_port(const struct ctl_edit *e, void *attr)
{
	return ctl_port_query(e, attr);
}

static int modify_format(struct ctl_edit *e, void *attr)
{
	return ctl_format_modify(e, attr);
}

static int query_format(const struct ctl_edit *e, void *attr)
{
	return ctl_format_query(e, attr);
}

static int modify_ev(struct ctl_edit *e, void *attr)
{
	return ctl_ev_modify(e, attr);
}

static int query_ev(const struct ctl_edit *e, void *attr)
{
	return ctl_ev_query(e, attr);
}

static int modify_cc(struct ctl_edit *e, void *attr)
{
	return ctl_cc_modify(e, attr);
}

static int query_cc(const struct ctl_edit *e, void *attr)
{
	return ctl_cc_query(e, attr);
}

int mrc_ctl_query_port(struct mrc_context *context, uint8_t port_num,
		       struct mrc_ctl_port_attr *attr, int attr_mask)
{
	const struct ctl_call call = {CONTROL_KINDS, port_num, attr_mask, NULL, query_port};

	return serve(context, &call, attr);
}

int mrc_ctl_modify_port(struct mrc_context *context, uint8_t port_num,
			struct mrc_ctl_port_attr *attr, int attr_mask)
{
	const struct ctl_call call = {CONTROL_KINDS, port_num, attr_mask, modify_port, NULL};

	return serve(context, &call, attr);
}

int mrc_ctl_modify_ev_fmt_profile(struct mrc_context *context, uint64_t id,
				  struct mrc_ctl_ev_fmt_profile_attr *attr, int attr_mask)
{
	const struct ctl_call call = {CONTROL_FORMAT, id, attr_mask, modify_format, NULL};

	return serve(context, &call, attr);
}

int mrc_ctl_query_ev_fmt_profile(struct mrc_context *context, uint64_t id,
				 struct mrc_ctl_ev_fmt_profile_attr *attr, int attr_mask)
{
	const struct ctl_call call = {CONTROL_FORMAT, id, attr_mask, NULL, query_format};

	return serve(context, &call, attr);
}

int mrc_ctl_modify_ev_profile(struct mrc_context *context, uint64_t id,
			      struct mrc_ctl_ev_profile_attr *attr, int attr_mask)
{
	const struct ctl_call call = {CONTROL_EV, id, attr_mask, modify_ev, NULL};

	return serve(context, &call, attr);
}

int mrc_ctl_query_ev_profile(struct mrc_context *context, uint64_t id,
			     struct mrc_ctl_ev_profile_attr *attr, int attr_mask)
{
	const struct ctl_call call = {CONTROL_EV, id, attr_mask, NULL, query_ev};

	return serve(context, &call, attr);
}

int mrc_ctl_modify_cc_profile(struct mrc_context *context, uint64_t id,
			      struct mrc_ctl_cc_profile_attr *attr, int attr_mask)
{
	const struct ctl_call call = {CONTROL_CC, id, attr_mask, modify_cc, NULL};

	return serve(context, &call, attr);
}

int mrc_ctl_query_cc_profile(struct mrc_context *context, uint64_t id,
			     struct mrc_ctl_cc_profile_attr *attr, int attr_mask)
{
	const struct ctl_call call = {CONTROL_CC, id, attr_mask, NULL, query_cc};

	return serve(context, &call, attr);
}
