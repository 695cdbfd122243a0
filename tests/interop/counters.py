"""What must hold at the end of a run, for all of its packets together."""
import json
import re
import subprocess

COMPLAINT = re.compile(r"BUG:|WARNING:|Oops|Call trace|rdma_rxe: .*(?:fail|invalid)", re.I)
# What the guest tells of loss and of errors: shown, for whoever reads the table.
SHOWN = ("duplicate_request", "out_of_seq_request", "rcvd_rnr_err", "send_rnr_err", "rcvd_seq_err",
         "retry_exceeded_err", "completer_retry_err", "send_err")


def check(name, is_right, why):
    return {"name": name, "result": "pass" if is_right else "FAIL", "why": why}


def decode(build, capture):
    """How many packets weft decode sees, and what it says of the first that is not right."""
    process = subprocess.Popen([str(build / "src/tools/weft"), "decode", "--json", str(capture)],
                               stdout=subprocess.PIPE, text=True)
    packets, wrong, first = 0, 0, ""
    for text in process.stdout:
        packet = json.loads(text)
        if "verdict" not in packet:
            continue
        packets += 1
        if packet["verdict"] != "ok":
            wrong += 1
            first = first or text.strip()
    process.wait(60)
    return packets, wrong, first


def weft_counters(path):
    """What weft's own devices counted when they were closed: a line of JSON each."""
    lines = path.read_text().splitlines() if path.exists() else []
    devices = [json.loads(line) for line in lines]
    wrong = [d for d in devices if not is_balanced(d)]
    received = sum(d["io"]["rx"] for d in devices)
    return [check("weft's counters balance", devices and not wrong,
                  f"{received} packets received by {len(devices)} devices"
                  + (f": {wrong[0]}" if wrong else "")),
            check("no wrong ICRC at weft", all(d["io"]["drop_icrc"] == 0 for d in devices),
                  f"{sum(d['io']['drop_icrc'] for d in devices)}")]


def is_balanced(device):
    io, rc = device["io"], device["rc"]
    drops = sum(n for name, n in io.items() if name.startswith("drop_"))
    return (io["rx"] == io["rx_delivered"] + io["rx_passed_on"] + drops
            and rc["rx"] == io["rx_delivered"])


def close(build, wire, guest, lossy):
    counters = guest.counters()
    _, log = guest.run("dmesg")
    captured, missed = wire.stop_capture()
    packets, wrong, first = decode(build, wire.captured)
    complaints = [text for text in log.splitlines() if COMPLAINT.search(text)]
    losses = [check("packets were lost both ways", lossy["weft_dropped"] and lossy["rxe_dropped"],
                    f"{lossy['weft_dropped']} of {lossy['weft_sent']} from weft,"
                    f" {lossy['rxe_dropped']} of {lossy['rxe_sent']} from rxe")]
    return [
        *(losses if lossy["weft_sent"] else []),
        check("every packet captured", packets == captured and not missed,
              f"{captured} packets, {missed} missed, {packets} decoded"),
        check("every packet and its ICRC right", packets > 0 and not wrong,
              f"{wrong} wrong of {packets}" + (f": {first}" if first else "")),
        *weft_counters(wire.counters),
        check("no complaint of the guest's kernel", not complaints, "; ".join(complaints[:3]) or
              " ".join(f"{name} {counters[name]}" for name in SHOWN)),
    ]
