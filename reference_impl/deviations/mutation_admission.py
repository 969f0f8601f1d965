"""Faults of admission, of conflicts and of codes, each the mistake that the catalogue names for its requirement."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from reference_impl.mutation_host.admission import Admission, Context, Denied, Request
from reference_impl.mutation_host.answers import Answer, Voice
from reference_impl.mutation_host.dispatch import Dispatcher
from reference_impl.mutation_host.host import MutationHost
from reference_impl.mutation_host.identity import namespace
from reference_impl.mutation_host.keys import Observer
from reference_impl.mutation_host.model import Call, Record, Refusal
from reference_impl.mutation_host.preflight import Preflight
from reference_impl.mutation_host.settings import Config
from reference_impl.mutation_host.shape import fits
from reference_impl.planting import Collection

ADMISSION_FAULTS = Collection("mutation-host")
_KNOWN = {"version", "request_id", "operation", "connection", "revision", "input", "idempotency_key", "approval"}


def _found(config: Config, name: str) -> Mapping[str, Any] | None:
    return next((op for op in config["operations"] if op["id"] == name), None)


@ADMISSION_FAULTS.plant("key-before-envelope", names="EXEC-001", part="host")
class KeyBeforeEnvelope(MutationHost):
    """Looks the key up first, so that a malformed call under a key that is held shows that it is."""

    def invoke(self, context: Mapping[str, Any], request: Mapping[str, Any]) -> Answer:
        key = request.get("idempotency_key")
        instance = str(self._settings.current()["instance"])
        answer = super().invoke(context, request)
        if answer.get("error") != {"code": "invalid_input"} or not isinstance(key, str) or set(request) <= _KNOWN:
            return answer
        held = self.ledger.find_live("invoke.early", namespace(instance, context), key)
        return answer if held is None else Voice(instance, str(request["request_id"])).conflict()


@ADMISSION_FAULTS.plant("shape-before-access", names="EXEC-002", part="admission")
class ShapeBeforeAccess(Admission):
    """Validates the input where it decodes the request."""

    def check_envelope(self, config: Config, request: Request) -> None:
        super().check_envelope(config, request)
        found = _found(config, request["operation"])
        if found is not None and not fits(request["input"], found.get("input")):
            raise Denied("invalid_input")


@ADMISSION_FAULTS.plant("scope-left-to-provider", names="EXEC-012", part="admission")
class ScopeLeftToProvider(Admission):
    """Leaves it to the provider which resources there are."""

    def check_input(self, operation: Mapping[str, Any], grants: Mapping[str, Any], request: Request) -> None:
        super().check_input(operation, {**grants, "resources": None}, request)

    def recheck(self, call: Call) -> None:
        self.check_access(self._settings.current(), call.context, call.operation, call.connection)


@ADMISSION_FAULTS.plant("broken-binding-shows", names="EXEC-004", part="admission")
class BrokenBindingShows(Admission):
    """Resolves the connection first, and tells anybody when that fails."""

    def check_access(self, config: Config, context: Context, operation: str, connection: str) -> Mapping[str, Any]:
        found, known = _found(config, operation), config.get("connections")
        if found is not None and known is not None and all(c["id"] != found["connection"] for c in known):
            raise Denied("unavailable")
        return super().check_access(config, context, operation, connection)


@ADMISSION_FAULTS.plant("stale-first", names="EXEC-006", part="admission")
class StaleFirst(Admission):
    """Compares the revision ahead of who asks."""

    def check_envelope(self, config: Config, request: Request) -> None:
        super().check_envelope(config, request)
        found = _found(config, request["operation"])
        if found is not None and found["revision"] != request["revision"]:
            raise Denied("stale_description")


@ADMISSION_FAULTS.plant("disabled-first", names="EXEC-007", part="admission")
class DisabledFirst(Admission):
    """Looks whether an operation is enabled ahead of the revision."""

    def check_lookup(self, config: Config, request: Request) -> Mapping[str, Any]:
        found = _found(config, request["operation"])
        if found is not None and not found["enabled"]:
            raise Denied("forbidden")
        return super().check_lookup(config, request)


class _Renaming(Admission):
    """Tells one refusal of the lookup under another code."""

    says = ("", "")

    def check_lookup(self, config: Config, request: Request) -> Mapping[str, Any]:
        try:
            return super().check_lookup(config, request)
        except Denied as denied:
            raise Denied(self.says[1] if denied.code == self.says[0] else denied.code) from denied


@ADMISSION_FAULTS.plant("disabled-is-not-found", names="EXEC-008", part="admission")
class DisabledIsNotFound(_Renaming):
    """Hides a disabled operation as if it were absent."""

    says = ("forbidden", "not_found")


@ADMISSION_FAULTS.plant("unbound-is-unavailable", names="EXEC-009", part="admission")
class UnboundIsUnavailable(_Renaming):
    """Takes an operation without a binding for one that is down."""

    says = ("not_found", "unavailable")


@ADMISSION_FAULTS.plant("input-before-enablement", names="EXEC-010", part="admission")
class InputBeforeEnablement(Admission):
    """Validates the input ahead of looking whether the operation is enabled."""

    def check_lookup(self, config: Config, request: Request) -> Mapping[str, Any]:
        found = _found(config, request["operation"])
        disabled = found is not None and found["revision"] == request["revision"] and not found["enabled"]
        if found is not None and disabled and not fits(request["input"], found.get("input")):
            raise Denied("invalid_input")
        return super().check_lookup(config, request)


@ADMISSION_FAULTS.plant("key-before-input", names="EXEC-011", part="host")
class KeyBeforeInput(MutationHost):
    """Looks the key up ahead of validating the input, and takes what does not fit for another request."""

    def invoke(self, context: Mapping[str, Any], request: Mapping[str, Any]) -> Answer:
        answer = super().invoke(context, request)
        key = request.get("idempotency_key")
        if answer.get("error") != {"code": "invalid_input"} or not isinstance(key, str):
            return answer
        instance = self._settings.current()["instance"]
        held = self.ledger.find_live("invoke.early", namespace(instance, context), key)
        return answer if held is None else Voice(instance, str(request["request_id"])).conflict()


@ADMISSION_FAULTS.plant("stale-with-metadata", names="EXEC-013", part="host")
class StaleWithMetadata(MutationHost):
    """Adds to a stale description that nothing was attempted."""

    def invoke(self, context: Mapping[str, Any], request: Mapping[str, Any]) -> Answer:
        answer = super().invoke(context, request)
        if answer.get("error") != {"code": "stale_description"}:
            return answer
        voice = Voice(str(self._settings.current()["instance"]), str(request["request_id"]))
        return voice.refused_candidate(Refusal("stale_description", "stale_description"))


class _NoPreflight(Preflight):
    def judge(self, call: Call) -> Refusal | None:
        del call
        return None


class _CredentialBehindGate(Dispatcher):
    preflight: Preflight

    def withheld(self, call: Call, attempt: str) -> str | None:
        refusal = self.preflight.judge(call)
        return super().withheld(call, attempt) if refusal is None else refusal.cause


@ADMISSION_FAULTS.plant("credential-behind-gate", names="EXEC-016", part="host")
class CredentialBehindGate(MutationHost):
    """Resolves the credential once the gate is open, and then has nothing to send with."""

    preflight_class = _NoPreflight
    dispatcher_class = _CredentialBehindGate

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        assert isinstance(self.dispatcher, _CredentialBehindGate)
        self.dispatcher.preflight = Preflight(self._settings)


@ADMISSION_FAULTS.plant("conflict-replays", names="CODE-005", part="observer")
class ConflictReplays(Observer):
    """Goes by the key alone and replays the first result to whatever comes under it."""

    def observe(self, call: Call, record: Record, voice: Voice) -> Answer:
        return super().observe(call, replace(record, fingerprint=call.fingerprint), voice)


class _Explaining(Observer):
    """Adds a sentence to each conflict."""

    def observe(self, call: Call, record: Record, voice: Voice) -> Answer:
        answer = super().observe(call, record, voice)
        error = answer.get("error", {})
        if error.get("code") != "idempotency_conflict":
            return answer
        return {**answer, "error": {**error, "message": self.sentence(call, record)}}

    def sentence(self, call: Call, record: Record) -> str:
        raise NotImplementedError


@ADMISSION_FAULTS.plant("conflict-shows-digest", names="CODE-007", part="observer")
class ConflictShowsDigest(_Explaining):
    """Helps the caller with the digest of the request that is stored."""

    def sentence(self, call: Call, record: Record) -> str:
        del call
        return f"stored request: {json.loads(record.fingerprint or '{}')['input_digest']}"


@ADMISSION_FAULTS.plant("conflict-names-axis", names="CODE-008", part="observer")
class ConflictNamesAxis(_Explaining):
    """Helps the caller with the member that differs."""

    def sentence(self, call: Call, record: Record) -> str:
        stored, mine = json.loads(record.fingerprint or "{}"), json.loads(call.fingerprint)
        return f"{next(name for name in mine if mine[name] != stored.get(name))} differs"


@ADMISSION_FAULTS.plant("code-of-its-own", names="CODE-012", part="observer")
class CodeOfItsOwn(Observer):
    """Answers a duplicate of what is under way at once, by a code that nobody has agreed on."""

    def observe(self, call: Call, record: Record, voice: Voice) -> Answer:
        answer = super().observe(call, record, voice)
        if answer.get("mutation", {}).get("cause") != "timeout" or "error" not in answer:
            return answer
        return {**answer, "error": {"code": "attempt_in_progress"}}
