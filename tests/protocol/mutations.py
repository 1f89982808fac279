"""Every rule of protocol.md: where it is in the code, the test that fails without it, and how to take it away.

`break_each_rule.py` takes each away in a private copy and runs its test. `test_map.py` keeps the page
`docs/explanation/protocol-map.md` in step with this list.
"""

from __future__ import annotations

from tests.protocol.rules_1 import SECTION_1
from tests.protocol.rules_2 import SECTION_2
from tests.protocol.rules_3 import SECTION_3
from tests.protocol.rules_4 import SECTION_4
from tests.protocol.rules_5 import SECTION_5
from tests.protocol.rules_6 import SECTION_6
from tests.protocol.vocabulary import Break, Drop, Later, Rule, Swap

__all__ = ["LATER", "RULES_OF_THE_PROTOCOL", "Break", "Drop", "Later", "Rule", "Swap"]

LATER = (
    Later("1", "Segment 0: for a restart the effects of its lineage", "5. Running it at 3 am"),
    Later(
        "1",
        "Payloads carry an access label and a retention class, are erased, removed with their run",
        "5. Running it at 3 am",
    ),
    Later("1", "Proposal rows", "4. Acting on the world under authority"),
    Later("1", "Run ids of (restarted run, number)", "5. Running it at 3 am"),
    Later("2", "Signals of proposals", "4. Acting on the world under authority"),
    Later(
        "2",
        "Undo, which sends pointers of later effect (the kernel's part is above)",
        "3. Reports, queues and people",
    ),
    Later(
        "2",
        "Repair, skip and migrate take a control claim first",
        "5. Running it at 3 am",
    ),
    Later("3", "Conditions of approvals on closing tokens", "4. Acting on the world under authority"),
    Later("3", "A cancelled map closes its items", "2. Graphs that people can write, check and trust"),
    Later("4", "Cleanup pages of the purge class g#", "5. Running it at 3 am"),
    Later(
        "4",
        "Pause by workflow (5) and by connector (4): checked at the start of a burst or attempt",
        "5. Running it at 3 am; 4. Acting on the world",
    ),
    Later("5", "Deadlines of approvals and of effects", "4. Acting on the world under authority"),
    Later(
        "5",
        "Restart is refused while an effect of its lineage is open; adoption by operation key",
        "5. Running it at 3 am",
    ),
    Later(
        "5", "Resolving an ambiguous effect (confirm, retry, fail)", "4. Acting on the world under authority"
    ),
    Later("5", "Notifications use the same rows and dispatcher", "4. Acting on the world under authority"),
    Later(
        "6",
        "superseded; attention left by repair and by resolving",
        "5. Running it at 3 am; 4. Acting on the world",
    ),
    Later("6", "Quorum: the k-th submission signals", "3. Reports, queues and people"),
)

RULES_OF_THE_PROTOCOL: tuple[Rule, ...] = (
    *SECTION_1,
    *SECTION_2,
    *SECTION_3,
    *SECTION_4,
    *SECTION_5,
    *SECTION_6,
)
