/* What a device's engines recorded, into the file that WEFT_TRACE_FILE names: the last events of a
 * queue pair that fails, and those of all devices when an assertion does. The lines are those of
 * `weft top --events --json`. */
#ifndef WEFT_NIC_TRACE_FILE_H
#define WEFT_NIC_TRACE_FILE_H

#include <stdint.h>

struct device;
struct shard;

/* The device's events are written if the process aborts, until trace_file_leave. */
void trace_file_join(struct device *d);
void trace_file_leave(struct device *d);

/* A queue pair has failed: its last events are appended, and nic_fail says if they cannot be. */
void trace_file_failed(const struct shard *s, uint32_t qp);

#endif
