'use strict';
// What a configuration says of one call: whether it is admitted, and whether a new attempt may be made for it. Pure:
// it reads no store and no clock. Within each part the first refusal wins.
const { createHash } = require('node:crypto');

const isText = (v) => typeof v === 'string';
const isObject = (v) => typeof v === 'object' && v !== null && !Array.isArray(v);
const WHO = ['caller', 'tenant', 'realm', 'executor'];
const TEXTS = ['request_id', 'operation', 'connection', 'revision'];
const MEMBERS = ['version', ...TEXTS, 'input', 'idempotency_key', 'approval'];
const KINDS = { text: isText, integer: Number.isInteger, boolean: (v) => typeof v === 'boolean', object: isObject, list: Array.isArray };
const only = (v, members) => Object.keys(v).every((name) => members.includes(name));
const bytes = (v) => Buffer.byteLength(JSON.stringify(v));

/** JSON with sorted members: equal text for equal values. */
function canonical(v) {
  if (Array.isArray(v)) return `[${v.map(canonical)}]`;
  if (!isObject(v)) return JSON.stringify(v);
  return `{${Object.keys(v).sort().map((k) => `${JSON.stringify(k)}:${canonical(v[k])}`)}}`;
}
const digest = (v) => createHash('sha256').update(canonical(v)).digest('hex');

class Policy {
  constructor(config, context, request, limits) {
    this.config = config;
    this.context = context;
    this.request = request;
    this.limits = limits;
    this.origin = context.origin ?? { kind: 'direct', authority: config.instance };
    this.operation = config.operations.find((o) => o.id === request?.operation);
    this.connection = config.connections?.find((c) => c.id === request?.connection);
  }

  /** Everything that is refused ahead of keys and attempts. */
  refusal() {
    const { request: r, operation } = this;
    if (!this.wellFormed()) return 'invalid_input';
    const caller = this.caller();
    if (!caller) return 'forbidden';
    if (operation && operation.revision !== r.revision) return 'stale_description';
    const closed = this.closed(caller, () => this.fits());
    if (closed) return closed;
    const keyed = r.idempotency_key !== undefined;
    return (operation.idempotency === 'keyed') !== keyed || r.idempotency_key === '' ? 'invalid_input' : null;
  }

  /** The same for a call that was admitted before: who lost access meanwhile hears what a stranger hears. */
  withdrawn() {
    const caller = this.caller();
    return caller ? this.closed(caller, () => true) : 'forbidden';
  }

  closed(caller, fits) {
    const { request: r, operation, config } = this;
    if (!operation || operation.connection !== r.connection || (config.connections && !this.connection)) return 'not_found';
    if (!operation.enabled) return 'forbidden';
    if (!fits()) return 'invalid_input';
    const outside = operation.scope && caller.resources && !caller.resources.includes(r.input[operation.scope]);
    return outside ? 'forbidden' : null;
  }

  wellFormed() {
    const { request: r, config } = this;
    const largest = Math.max(this.limits.request_bytes, ...config.operations.map((o) => o.request_bytes ?? 0));
    return isObject(r) && r.version === 'v1alpha2' && only(r, MEMBERS) && bytes(r) <= largest
      && TEXTS.every((name) => isText(r[name]) && r[name] !== '') && isObject(r.input)
      && (r.idempotency_key === undefined || isText(r.idempotency_key))
      && (r.approval === undefined || (isObject(r.approval) && only(r.approval, ['reference', 'evidence'])));
  }

  /** The caller's entry, if it may do this, see what comes of it, and came in where it is known. */
  caller() {
    const { origin, config, request: r } = this;
    const direct = origin.kind === 'direct';
    if (direct && origin.authority !== config.instance) return undefined;
    if (!direct && !config.origins?.some((o) => o.authority === origin.authority)) return undefined;
    return config.callers.find((c) => WHO.every((m) => (c[m] ?? null) === (this.context[m] ?? null))
      && (c.origin ?? null) === (direct ? null : origin.authority)
      && c.may.includes(r.operation) && (c.sees ?? c.may).includes(r.operation)
      && (c.connections ?? [r.connection]).includes(r.connection));
  }

  fits() {
    const { operation: { input: shape, request_bytes: bound }, request: r } = this;
    if (bytes(r) > (bound ?? this.limits.request_bytes) || !isText(r.input.marker)) return false;
    return !shape || (shape.required.every((name) => Object.hasOwn(r.input, name))
      && only(r.input, [...Object.keys(shape.members), 'marker'])
      && Object.entries(shape.members).every(([n, kind]) => !Object.hasOwn(r.input, n) || KINDS[kind](r.input[n])));
  }

  /** The record that is presented and verifies; undefined where none does. */
  proof(now) {
    const { approval } = this.request;
    const records = this.config[this.operation.approval === 'required' ? 'approvals' : 'event_claims'] ?? [];
    const subject = canonical(this.subject());
    return records.find((a) => a.reference === approval.reference && a.evidence === approval.evidence
      && this.config.issuers?.includes(a.issuer) && canonical(a.subject) === subject && now < a.expires_at);
  }

  subject() {
    const who = Object.fromEntries(WHO.map((m) => [m, this.context[m] ?? null]));
    return { ...who, origin: this.origin, operation: this.operation.id, operation_revision: this.operation.revision,
      connection: this.operation.connection, connection_revision: this.connectionRevision(), input_digest: digest(this.request.input) };
  }

  connectionRevision() { return this.connection?.revision ?? this.operation.connection_revision ?? '1'; }

  namespace() {
    return JSON.stringify([this.config.instance, this.context.tenant ?? null, this.context.realm ?? null, this.context.caller,
      this.context.executor ?? null, this.origin.kind, this.origin.authority]);
  }

  fingerprint() {
    const { request: r, config } = this;
    const route = this.origin.kind === 'direct' ? null : config.origins.find((o) => o.authority === this.origin.authority);
    return digest([r.version, r.operation, r.connection, this.connectionRevision(), r.revision, config.config_revision, r.input, route]);
  }
}

module.exports = { Policy, isText, isObject };
