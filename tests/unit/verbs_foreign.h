/* What verbs_foreign.c and the library that it stands before have in common. */
#ifndef WEFT_TESTS_UNIT_VERBS_FOREIGN_H
#define WEFT_TESTS_UNIT_VERBS_FOREIGN_H

#define FOREIGN_ANSWER 0x2a2a2a2a

/* The last function of the stand-in that was called. */
extern __attribute__((visibility("default"))) const char *foreign_called;

#define FOREIGN_NAMES(F)               \
	F(_ibv_query_gid_ex)           \
	F(_ibv_query_gid_table)        \
	F(ibv_ack_async_event)         \
	F(ibv_ack_cq_events)           \
	F(ibv_alloc_pd)                \
	F(ibv_attach_mcast)            \
	F(ibv_close_device)            \
	F(ibv_create_ah)               \
	F(ibv_create_ah_from_wc)       \
	F(ibv_create_comp_channel)     \
	F(ibv_create_cq)               \
	F(ibv_create_qp)               \
	F(ibv_create_srq)              \
	F(ibv_dealloc_pd)              \
	F(ibv_dereg_mr)                \
	F(ibv_destroy_ah)              \
	F(ibv_destroy_comp_channel)    \
	F(ibv_destroy_cq)              \
	F(ibv_destroy_qp)              \
	F(ibv_destroy_srq)             \
	F(ibv_detach_mcast)            \
	F(ibv_free_device_list)        \
	F(ibv_get_async_event)         \
	F(ibv_get_cq_event)            \
	F(ibv_get_device_guid)         \
	F(ibv_get_device_index)        \
	F(ibv_get_device_name)         \
	F(ibv_get_pkey_index)          \
	F(ibv_import_device)           \
	F(ibv_import_dm)               \
	F(ibv_import_mr)               \
	F(ibv_import_pd)               \
	F(ibv_init_ah_from_wc)         \
	F(ibv_modify_qp)               \
	F(ibv_modify_srq)              \
	F(ibv_open_device)             \
	F(ibv_qp_to_qp_ex)             \
	F(ibv_query_device)            \
	F(ibv_query_ece)               \
	F(ibv_query_gid)               \
	F(ibv_query_gid_type)          \
	F(ibv_query_pkey)              \
	F(ibv_query_port)              \
	F(ibv_query_qp)                \
	F(ibv_query_qp_data_in_order)  \
	F(ibv_query_srq)               \
	F(ibv_reg_dmabuf_mr)           \
	F(ibv_reg_mr)                  \
	F(ibv_reg_mr_iova)             \
	F(ibv_reg_mr_iova2)            \
	F(ibv_rereg_mr)                \
	F(ibv_resize_cq)               \
	F(ibv_resolve_eth_l2_from_gid) \
	F(ibv_set_ece)                 \
	F(ibv_unimport_mr)             \
	F(ibv_unimport_pd)

#endif
