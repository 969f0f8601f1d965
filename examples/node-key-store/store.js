'use strict';
// A small, honest idempotency-key store. It reserves a key, opens a gate once, sends one request, remembers the answer,
// and never turns "unknown" into anything else. All state is in one SQLite file that several processes share.
const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');
const { randomUUID } = require('node:crypto');
const Database = require('better-sqlite3');
const { Policy, isText, isObject } = require('./policy.js');

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS attempts (
    id TEXT PRIMARY KEY, namespace TEXT NOT NULL, request_id TEXT NOT NULL, operation TEXT NOT NULL,
    connection TEXT NOT NULL, caller TEXT NOT NULL, key TEXT, state TEXT NOT NULL, settled_at INTEGER, answer TEXT);
  CREATE TABLE IF NOT EXISTS reservations (
    id TEXT PRIMARY KEY, namespace TEXT NOT NULL, key TEXT NOT NULL, fingerprint TEXT NOT NULL,
    attempt TEXT NOT NULL REFERENCES attempts(id), state TEXT NOT NULL, settled_at INTEGER, replay_expires_at INTEGER);
  CREATE TABLE IF NOT EXISTS spends (
    issuer TEXT NOT NULL, reference TEXT NOT NULL, attempt TEXT NOT NULL UNIQUE REFERENCES attempts(id),
    PRIMARY KEY (issuer, reference));
  CREATE UNIQUE INDEX IF NOT EXISTS one_live_reservation ON reservations(namespace, key) WHERE state <> 'Expired';`;

const LIMITS = { replay_retention_s: 86400, request_bytes: 65536, service_deadline_s: 20 };
const POLL_MS = 5;

// What is said of an attempt. It is stored with the attempt, and a replay repeats it.
const said = (classification, code, cause = null, result) => ({ classification, code, cause, result });
const UNKNOWN = (cause) => said('unknown', 'outcome_unknown', cause);
const NOT_ATTEMPTED = (code, cause) => said('not_attempted', code, cause);

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const elapsed = () => performance.now();

class Store {
  constructor({ dir, fresh, remote, config, limits = {} }) {
    this.remote = remote;
    this.file = path.join(dir, 'configuration.json');
    this.configure(config, fresh);
    this.limits = { ...LIMITS, ...limits };
    this.db = new Database(path.join(dir, 'keys.sqlite'), { fileMustExist: !fresh, timeout: 5000 });
    this.db.pragma('journal_mode = WAL');
    this.db.pragma('synchronous = FULL'); // a gate that a crash can close again would be no gate
    if (fresh) this.transaction(() => this.db.exec(SCHEMA));
  }

  /** The document of the latest reset is in force for every process that works here, so it is read for each decision. */
  configure(config, fresh) {
    const text = JSON.stringify(config);
    if (!fresh && fs.readFileSync(this.file, 'utf8') === text) return;
    fs.writeFileSync(`${this.file}.${process.pid}`, text);
    fs.renameSync(`${this.file}.${process.pid}`, this.file);
  }

  get config() { return JSON.parse(fs.readFileSync(this.file, 'utf8')); }
  policy(context, request) { return new Policy(this.config, context, request, this.limits); }

  close() { this.db.close(); }
  transaction(work) { return this.db.transaction(work).immediate(); }
  run(sql, ...args) { return this.db.prepare(sql).run(...args).changes; }
  get(sql, ...args) { return this.db.prepare(sql).get(...args); }

  // ---- the call --------------------------------------------------------------------------------------------------

  async invoke(context, request, onWait = () => {}) {
    const deadline = elapsed() + this.limits.service_deadline_s * 1000;
    const policy = this.policy(context, request);
    const refusal = policy.refusal();
    if (refusal) return this.refuse(request, refusal);
    const call = {
      attempt: randomUUID(), request, namespace: policy.namespace(), caller: context.caller,
      key: request.idempotency_key ?? null, fingerprint: policy.fingerprint(),
    };
    let found;
    let lookedUp = call.key === null;
    try {
      // One transaction: whoever holds the key is seen, and whatever refuses a new attempt is decided, in one moment.
      found = this.transaction(() => {
        const prior = call.key === null ? undefined : this.lookUp(call);
        lookedUp = true;
        if (prior) return { prior };
        const judged = this.judge(policy, call);
        if (!judged.refused) this.prepare(call);
        return judged;
      });
    } catch (error) {
      this.complain('prepare', error);
      // Nothing was sent by this call. Whether an earlier one sent, is known only if the key could be looked up.
      if (!lookedUp) return this.answer(request, null, UNKNOWN('unavailable'));
      const answer = NOT_ATTEMPTED('unavailable', null);
      this.tryTo('abort', () => this.settle(call.attempt, 'Prepared', 'Aborted', answer));
      return this.answer(request, null, answer);
    }
    if (found.refused) return this.answer(request, null, found.refused);
    if (found.prior) {
      if (found.prior.fingerprint !== call.fingerprint) return this.refuse(request, 'idempotency_conflict');
      const seen = await this.observe(request, found.prior.attempt, deadline, onWait);
      const withdrawn = this.policy(context, request).withdrawn();
      return withdrawn ? this.refuse(request, withdrawn) : seen;
    }
    const spent = found.proof ? this.spend(call, found.proof) : null;
    const outcome = spent ? this.abort(call.attempt, NOT_ATTEMPTED(spent, spent)) : await this.dispatch(call, deadline);
    return this.answer(request, { id: call.attempt }, outcome);
  }

  /** Whether a new attempt may be made: approval, credential, room. Nothing is spent here. */
  judge(policy, call) {
    const refused = (code, cause = code) => ({ refused: NOT_ATTEMPTED(code, cause) });
    let proof;
    if (policy.operation.approval !== 'not_required') {
      if (!call.request.approval) return refused('approval_required');
      proof = policy.proof(Date.now());
      if (!proof) return refused('approval_refused');
      const used = this.get('SELECT 1 FROM spends WHERE issuer = ? AND reference = ?', proof.issuer, proof.reference);
      if (proof.spent || used) return refused('approval_replayed');
    }
    const credential = policy.connection?.credential.state ?? 'ready';
    if (credential !== 'ready') return refused('unavailable', `credential_${credential}`);
    const room = policy.config.capacity?.reservations;
    const full = call.key !== null && room !== undefined
      && this.get("SELECT count(*) AS n FROM reservations WHERE state <> 'Expired'").n >= room;
    return full ? refused('capacity') : { proof };
  }

  /** Uses an approval once, in a write of its own. Returns why the gate has to stay shut, or null. */
  spend({ attempt }, { issuer, reference }) {
    try {
      this.run('INSERT INTO spends VALUES (?, ?, ?)', issuer, reference, attempt);
      return null;
    } catch (error) {
      if (/^SQLITE_CONSTRAINT/.test(error.code)) return 'approval_replayed';
      this.complain('spend', error);
      return 'unavailable';
    }
  }

  lookUp({ namespace, key }) {
    const live = this.get(
      "SELECT * FROM reservations WHERE namespace = ? AND key = ? AND state <> 'Expired'", namespace, key);
    if (live?.state !== 'Replayable' || live.replay_expires_at > Date.now()) return live;
    this.run("UPDATE reservations SET state = 'Expired' WHERE id = ? AND state = 'Replayable'", live.id);
    return undefined;
  }

  prepare({ attempt, request, namespace, caller, key, fingerprint }) {
    this.run("INSERT INTO attempts VALUES (?, ?, ?, ?, ?, ?, ?, 'Prepared', NULL, NULL)",
      attempt, namespace, request.request_id, request.operation, request.connection, caller, key);
    if (key === null) return;
    this.run("INSERT INTO reservations VALUES (?, ?, ?, ?, ?, 'Pending', NULL, NULL)",
      randomUUID(), namespace, key, fingerprint, attempt);
  }

  /** Gate, one request, settlement. Returns what is said to the caller. */
  async dispatch({ attempt, request }, deadline) {
    if (elapsed() >= deadline) return this.abort(attempt, NOT_ATTEMPTED('timeout', null));
    try {
      if (this.run("UPDATE attempts SET state = 'Dispatching' WHERE id = ? AND state = 'Prepared'", attempt) !== 1) {
        return JSON.parse(this.get('SELECT answer FROM attempts WHERE id = ?', attempt).answer); // fenced by another
      }
    } catch (error) {
      this.complain('gate', error);
      return this.abort(attempt, NOT_ATTEMPTED('unavailable', null));
    }
    const { state, answer } = await this.send(request, deadline - elapsed());
    // If somebody else settled it meanwhile, or the store fails, the row stays as it is; the caller still hears what was seen.
    this.tryTo('settle', () => this.settle(attempt, 'Dispatching', state, answer));
    return answer;
  }

  /** Fences an attempt that this call has not sent. Only a fence that is durable allows `not_attempted`. */
  abort(attempt, answer) {
    if (this.tryTo('abort', () => this.settle(attempt, 'Prepared', 'Aborted', answer))) return answer;
    const unknown = UNKNOWN('unavailable');
    this.tryTo('settle', () => this.settle(attempt, 'Dispatching', 'Indeterminate', unknown));
    const row = this.tryTo('abort', () => this.get('SELECT answer FROM attempts WHERE id = ?', attempt));
    return row?.answer ? JSON.parse(row.answer) : unknown;
  }

  /** One request, never a second one. Resolves always. */
  send({ operation, input }, timeoutMs) {
    const body = JSON.stringify({ input, marker: input.marker });
    const ambiguous = (cause, error) => ({ state: 'Indeterminate', answer: UNKNOWN(cause), error });
    return new Promise((resolve) => {
      const request = http.request(new URL(`/effect/${operation}`, this.remote), {
        method: 'POST', agent: false,
        headers: { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body), Connection: 'close' },
      });
      const timer = setTimeout(() => { resolve(ambiguous('timeout')); request.destroy(); }, Math.max(1, timeoutMs));
      const finish = (outcome) => { clearTimeout(timer); resolve(outcome); };
      request.on('error', (error) => finish(ambiguous(null, error)));
      request.on('response', (response) => {
        const chunks = [];
        response.on('data', (chunk) => chunks.push(chunk));
        response.on('error', (error) => finish(ambiguous(null, error)));
        response.on('end', () => finish(
          (response.complete && this.evidence(response.statusCode, Buffer.concat(chunks))) || ambiguous(null)));
      });
      request.end(body);
    });
  }

  /** The two definite answers; anything else proves nothing. */
  evidence(status, bytes) {
    let body;
    try { body = JSON.parse(bytes.toString('utf8')); } catch { return null; }
    if (!isObject(body)) return null;
    const { effect, ...payload } = body;
    if (status === 200 && effect === 'done') return { state: 'Completed', answer: said('applied', null, null, payload) };
    if (status === 422 && effect === 'none') {
      return { state: 'Failed', answer: said('refused', 'forbidden', isText(body.code) ? body.code : null) };
    }
    return null;
  }

  /** Waits for somebody else's attempt and repeats its outcome. Sends nothing and changes nothing. */
  async observe(request, id, deadline, onWait) {
    for (let first = true; ; first = false) {
      const row = this.tryTo('observe', () => this.get('SELECT * FROM attempts WHERE id = ?', id));
      if (!row) return this.answer(request, { id }, UNKNOWN('unavailable'), true);
      if (row.answer !== null) return this.answer(request, row, JSON.parse(row.answer), true);
      if (elapsed() >= deadline) return this.answer(request, row, UNKNOWN('timeout'), true);
      if (first) onWait();
      await sleep(POLL_MS);
    }
  }

  // ---- settlement, recovery, upkeep ------------------------------------------------------------------------------

  /** Attempt and reservation together, only from the expected state. Returns whether it moved. */
  settle(id, from, to, answer) {
    return this.transaction(() => {
      const moved = this.run('UPDATE attempts SET state = ?, settled_at = ?, answer = ? WHERE id = ? AND state = ?',
        to, Date.now(), JSON.stringify(answer), id, from) === 1;
      if (moved) this.follow(id);
      return moved;
    });
  }

  /** The reservation follows its settled attempt. */
  follow(id) {
    const { state, settled_at: at } = this.get('SELECT state, settled_at FROM attempts WHERE id = ?', id);
    if (state === 'Indeterminate') {
      return this.run("UPDATE reservations SET state = 'Quarantined' WHERE attempt = ? AND state = 'Pending'", id);
    }
    return this.run("UPDATE reservations SET state = 'Replayable', settled_at = ?, replay_expires_at = ?"
      + " WHERE attempt = ? AND state = 'Pending'", at, at + this.limits.replay_retention_s * 1000, id);
  }

  recover() {
    try {
      return this.transaction(() => {
        const ids = (sql) => this.db.prepare(sql).pluck().all();
        let settled = 0;
        for (const id of ids("SELECT attempt FROM reservations r JOIN attempts a ON a.id = r.attempt"
          + " WHERE r.state = 'Pending' AND a.state NOT IN ('Prepared', 'Dispatching')")) settled += this.follow(id);
        for (const id of ids("SELECT id FROM attempts WHERE state = 'Prepared'")) {
          settled += this.settle(id, 'Prepared', 'Aborted', NOT_ATTEMPTED('unavailable', 'recovered'));
        }
        for (const id of ids("SELECT id FROM attempts WHERE state = 'Dispatching'")) {
          settled += this.settle(id, 'Dispatching', 'Indeterminate', UNKNOWN('timeout'));
        }
        return { status: 'done', settled };
      });
    } catch (error) {
      this.complain('recover', error);
      return { status: 'unavailable' };
    }
  }

  cancel(context, requestId) {
    const aborted = this.tryTo('cancel', () => this.transaction(() => this.db
      .prepare("SELECT id FROM attempts WHERE namespace = ? AND request_id = ? AND state = 'Prepared'").pluck()
      .all(this.policy(context, {}).namespace(), requestId)
      .filter((id) => this.settle(id, 'Prepared', 'Aborted', NOT_ATTEMPTED('unavailable', 'cancelled'))).length));
    return { status: aborted ? 'aborted' : 'received' };
  }

  housekeep() {
    const retired = this.tryTo('housekeep', () => this.run(
      "UPDATE reservations SET state = 'Expired' WHERE state = 'Replayable' AND replay_expires_at <= ?", Date.now()));
    return retired === undefined ? { status: 'unavailable', retired: 0 } : { status: 'done', retired };
  }

  // ---- answers ---------------------------------------------------------------------------------------------------

  refuse(request, code) {
    const id = isObject(request) && isText(request.request_id) ? { request_id: request.request_id } : {};
    return { version: 'v1alpha2', ...id, status: 'error', error: { code } };
  }

  answer(request, attempt, { classification, code, cause, result }, replayed = false) {
    const outcome = classification === 'applied' ? { status: 'success', result } : { status: 'error', error: { code } };
    return {
      version: 'v1alpha2', request_id: request.request_id, ...outcome,
      mutation: {
        classification, attempt: attempt && { instance: this.config.instance, id: attempt.id },
        original_request_id: replayed ? attempt.request_id ?? null : null, replayed, cause,
      },
    };
  }

  complain(step, error) { console.error(`${step}: ${error.stack}`); }
  tryTo(step, work) { try { return work(); } catch (error) { this.complain(step, error); return undefined; } }
}

module.exports = { Store };
