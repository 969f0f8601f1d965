"""Families: what the machine needs to know of one protocol, and nothing of which is outside these folders."""

from conformance.families.base import Family
from conformance.families.connector_push import CONNECTOR_PUSH
from conformance.families.mutation_host import MUTATION_HOST
from conformance.families.settle_lanes import SETTLE_LANES

FAMILIES: dict[str, Family] = {family.id: family for family in (MUTATION_HOST, CONNECTOR_PUSH, SETTLE_LANES)}
