"""The mutation host in the machine."""

from conformance.checkers.mutation import CHECKERS, Index, tables
from conformance.families.base import Family
from conformance.families.mutation_host.contract import EffectContract
from conformance.families.mutation_host.lazy import LAZY
from conformance.families.mutation_host.scenarios import SCENARIOS, TAIL
from conformance.families.mutation_host.scenarios_access import ACCESS
from conformance.families.mutation_host.scenarios_admission import ADMISSION
from conformance.families.mutation_host.scenarios_approvals import APPROVALS
from conformance.families.mutation_host.scenarios_beside import BESIDE_SCENARIOS
from conformance.families.mutation_host.scenarios_bound import BOUND_SCENARIOS
from conformance.families.mutation_host.scenarios_edges import EDGES
from conformance.families.mutation_host.scenarios_field import FIELD_SCENARIOS
from conformance.families.mutation_host.scenarios_gate import GATE_SCENARIOS
from conformance.families.mutation_host.scenarios_keys import KEY_SCENARIOS
from conformance.families.mutation_host.scenarios_lag import LAG_SCENARIOS
from conformance.families.mutation_host.scenarios_outcome import OUTCOME
from conformance.families.mutation_host.scenarios_recheck import RECHECKS
from conformance.families.mutation_host.scenarios_spend import SPEND_SCENARIOS
from conformance.families.mutation_host.walks import WALK

MUTATION_HOST = Family(
    id="mutation-host",
    scenarios=(
        *SCENARIOS,
        *OUTCOME,
        *KEY_SCENARIOS,
        *FIELD_SCENARIOS,
        *ACCESS,
        *RECHECKS,
        *APPROVALS,
        *ADMISSION,
        *GATE_SCENARIOS,
        *SPEND_SCENARIOS,
        *BOUND_SCENARIOS,
        *LAG_SCENARIOS,
        *BESIDE_SCENARIOS,
        *EDGES,
    ),
    tail=TAIL,
    contract=lambda _: EffectContract(),
    checkers=CHECKERS,
    index=Index,
    walk=WALK,
    lazy=LAZY,
    roles={
        "cancel": frozenset({"host.cancel"}),
        "concurrent-caller": frozenset({"host.invoke"}),
        "concurrent-worker": frozenset({"recover", "host.housekeep"}),
    },
    exercised=tables.exercised,
    tables=tables.expected,
)
