/* Scenarios from any text, no other file within reach, and fabrics kept small: the reader answers,
 * a refusal has a sentence that names the file, and what it accepts can be looked at and freed. The
 * same bytes as a .topo and a .cm file. */
#include "fuzz.h"

#include <errno.h>
#include <stdio.h>

#include "scenario/matrix.h"
#include "scenario/scenario.h"
#include "scenario/topo_file.h"

static char *no_file(const char *near, const char *name, size_t *len, char *error, size_t error_len)
{
	(void)near;
	(void)name;
	(void)len;
	snprintf(error, error_len, "there are no files here");
	return NULL;
}

static void fuzz_yaml(const char *text, size_t size)
{
	struct scenario_source source = {.file = "fuzz",
					 .text = text,
					 .len = size,
					 .max_links = 2048,
					 .max_flows = 4096,
					 .read_file = no_file};
	char error[SCENARIO_ERROR_MAX];
	struct scenario s;
	int rc = scenario_read(&s, &source, error, sizeof error);

	if (rc) {
		must(rc == -EINVAL || rc == -ENOMEM);
		must(strncmp(error, "fuzz:", 5) == 0);
		return;
	}
	must(s.topology.n_hosts >= 2 && s.workload.n > 0);
	must(s.plane_bdp_bytes > 0 && fwd_qos_fault(&s.qos) == NULL);
	for (uint32_t i = 0; i < s.workload.n; i++)
		must(s.workload.flows[i].src < s.topology.n_hosts &&
		     s.workload.flows[i].dst < s.topology.n_hosts);
	for (uint32_t i = 0; i < s.n_faults; i++)
		must(fault_problem(&s.faults[i], &s.topology) == NULL);
	scenario_fini(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct matrix m = {.name = "fuzz",
			   .text = text,
			   .len = size,
			   .hosts = 64,
			   .like = {.window = 1, .repeat = 1}};
	char error[SCENARIO_ERROR_MAX];
	struct topology_cfg cfg = {.planes = 1, .nic_ports = 1};
	struct workload w;

	fuzz_yaml(text, size);
	topo_file_read(&cfg, &(struct topo_file){"fuzz", text, size}, error, sizeof error);
	workload_init(&w);
	matrix_read(&w, &m, error, sizeof error);
	workload_fini(&w);
	return 0;
}
