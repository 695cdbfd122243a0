"""Answers of several branches made into one (draft 5.3; T-04 to T-06, T-15 to T-18, T-26, T-29,
T-34), as far as the referee of packets needs it: members stay, all PSNs are far from half the
range apart, and are counted on without end."""

CREDITS = [0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024,
           1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768]
MOST_OUT = 1 << 22  # packets that a source has out
UNLIMITED = 31
SEQUENCE, INVALID_REQUEST, REMOTE_OPERATION = 0x60, 0x61, 0x63


def kind_of(syndrome):
    return syndrome >> 5 & 3


def is_ack(syndrome):
    return kind_of(syndrome) == 0


def is_fatal(syndrome):
    return kind_of(syndrome) == 3 and syndrome & 31 > 0


def urgency(syndrome):
    """Fatal, then RNR by its time, of which code 0 is the longest, then sequence."""
    code = syndrome & 31
    if kind_of(syndrome) == 1:
        return 1, code or 32
    return (2, 0) if is_fatal(syndrome) else (0, 0)


def is_syndrome(syndrome):
    kind = kind_of(syndrome)
    return kind in (0, 1) or kind == 3 and syndrome & 31 <= 4


class Branch:
    def __init__(self):
        self.acked = self.msn = self.nak = self.limit = None
        self.is_unbounded = False


class Merge:
    """An answer that goes up is (PSN, syndrome, MSN)."""

    def __init__(self, n, start, is_first):
        self.branches = [Branch() for _ in range(n)]
        self.start, self.is_first = start, is_first
        if start is not None:
            for b in self.branches:
                b.acked, b.msn, b.limit = start - 1, 0, 0
        self.highest = self.told = self.told_limit = self.nak_told = self.refused = None
        self.told_msn, self.last, self.in_repeats, self.is_refusal_told = 0, 0, False, False
        self.asked, self.over = set(), None

    def minimum(self):
        known = [b.acked for b in self.branches]
        return None if None in known else min(known)

    def msn(self):
        return min(b.msn for b in self.branches if b.acked == self.minimum())

    def code(self):
        bounded = [b.limit - self.msn() for b in self.branches if not b.is_unbounded]
        if not bounded:
            return UNLIMITED
        return max((c for c, n in enumerate(CREDITS) if n <= min(bounded)), default=0)

    def tell(self, syndrome):
        least = self.minimum()
        self.told, self.told_msn = least, self.msn()
        self.asked = {psn for psn in self.asked if psn > least}
        if not is_ack(syndrome):
            self.nak_told = least + 1
            return least + 1, syndrome, self.told_msn
        code = syndrome & 31
        self.told_limit = float("inf") if code == UNLIMITED else self.told_msn + CREDITS[code]
        return least, syndrome, self.told_msn

    def due_nak(self, least, comes_again):
        if self.refused == least + 1 and (comes_again or not self.is_refusal_told):
            self.is_refusal_told = True
            return INVALID_REQUEST
        naks = [b.nak for b in self.branches if b.nak is not None and b.acked == least]
        if not naks or self.nak_told == least + 1:
            return None
        worst = max(naks, key=urgency)
        if is_fatal(worst):
            self.over = worst
        return worst

    def decide(self, before, wants_ack=False, comes_again=False):
        least = self.minimum()
        if self.over is not None or least is None:
            return None
        rose = before is None or least > before
        if rose:
            self.nak_told = None
        nak = self.due_nak(least, comes_again)
        if nak is not None:
            return self.tell(nak)
        advance = rose and self.highest is not None and \
            (least == self.highest or any(psn <= least for psn in self.asked))
        code = self.code()
        return self.tell(code) if advance or wants_ack or self.rises(code) else None

    def rises(self, code):
        """A higher limit goes up by itself where the source may be short of credits."""
        if self.told_limit in (None, float("inf")):
            return False
        if code == UNLIMITED:
            return True
        left = self.told_limit - self.msn()
        return CREDITS[code] > left and \
            (self.minimum() == self.highest or 2 * left <= CREDITS[code])

    def down(self, psn, asks, is_refused):
        """("pass" or why not, the answer that goes up)."""
        before = self.minimum()
        if self.over is not None:
            return "alone", (self.told + 1, self.over, self.told_msn)
        if is_refused and not (before is not None and psn <= before) and self.is_first and \
                (self.refused is None or psn < self.refused):
            self.refused, self.is_refusal_told = psn, False
        if is_refused or self.refused is not None and psn >= self.refused:
            return "refused", self.decide(before, comes_again=psn == self.refused)
        is_repeat = before is not None and psn <= before
        if not is_repeat:
            self.highest = psn if self.highest is None else max(psn, self.highest)
        for b in self.branches:
            if b.nak is not None and b.acked + 1 == psn and not is_fatal(b.nak):
                b.nak = None
        if self.nak_told == psn:
            self.nak_told = None
        wants_ack = is_repeat and (not self.in_repeats or asks or psn <= self.last)
        self.in_repeats, self.last = is_repeat, psn
        if asks and not is_repeat:
            self.asked.add(psn)
        return "pass", self.decide(before, wants_ack)

    def answer(self, branch, psn, syndrome, msn):
        """(fate, the answer that goes up)."""
        b, before = self.branches[branch], self.minimum()
        acked = psn if is_ack(syndrome) else psn - 1
        if not is_syndrome(syndrome):
            return "invalid", None
        if self.highest is None:
            return "beyond", None
        if self.start is None and is_ack(syndrome) and 0 < acked - self.highest < MOST_OUT:
            # The node may have restarted: who has more than has passed since has that.
            acked = self.highest
        if acked > self.highest:
            return "beyond", None
        if b.acked is not None and acked < b.acked:
            return "stale", None
        if b.acked is None or acked > b.acked:
            b.limit = msn if b.limit is None else b.limit
            b.acked, b.msn, b.nak = acked, msn, None
        b.limit = max(b.limit, msn)
        if is_ack(syndrome):
            b.is_unbounded = syndrome & 31 == UNLIMITED
            if not b.is_unbounded:
                b.limit = max(b.limit, msn + CREDITS[syndrome & 31])
        elif b.nak is None or not is_fatal(b.nak) or is_fatal(syndrome):
            b.nak = syndrome
        return "none", self.decide(before)
