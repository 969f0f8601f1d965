'use strict';
// A driver for onceproof at rung L0, family mutation-host. It needs nothing but Node.js.
//
// Part one speaks the protocol: keep it. Part two is a tiny host that makes the driver whole from the first minute:
// REPLACE IT by calls to your implementation. Stdout carries only the protocol; use console.error for everything else.
const { createHash, randomUUID } = require('node:crypto');
const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');

// ---- part one: the driver. Keep it, and say who you are. ------------------------------------------------------------

const HELLO = {
  v: 1, name: 'my-host', version: '0', language: 'javascript', families: ['mutation-host'], rung: 'L0', clock: 'real',
};

const say = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);
// The driver did its job; the host's own words are in the result, refusals and "I do not know" among them.
const done = (result) => ({ outcome: 'done', result });
// What this driver does not offer is listed as a gap.
const unsupported = (feature, reason) => ({ outcome: 'unsupported', feature, reason });

let host = null;

const verbs = {
  hello: () => done(HELLO),
  // A second reset may come to the same process, and replaces everything.
  reset: (args) => { host = new Host(args.state_dir, args.remote, args.config); return done({}); },
  command: (args, id) => command(args.name, args.args, id),
  recover: () => done(host.recover()),
  bye: () => done({}),
};

/** One command of the family; docs/commands-mutation-host.md has them all. */
async function command(name, args, id) {
  if (name === 'host.invoke') {
    // A call that has to wait for another one says so, once, and then looks again by itself.
    return done(await host.invoke(args.context, args.request, () => say({ event: 'waiting', id, on: 'command' })));
  }
  return unsupported(name, 'not offered yet');
}

async function handle(line) {
  const { id, cmd, args } = JSON.parse(line);
  let answer;
  try {
    answer = Object.hasOwn(verbs, cmd) ? await verbs[cmd](args, id) : unsupported(cmd, 'this driver is at rung L0');
  } catch (error) {
    console.error(error);
    answer = { outcome: 'failed', detail: String(error) }; // the driver could not do its job
  }
  process.stdout.write(`${JSON.stringify({ id, ...answer })}\n`, () => { if (cmd === 'bye') process.exit(0); });
}

// Not node:readline, which also breaks lines at U+2028 and U+2029; in JSON these may stand inside a string.
let rest = '';
process.stdin.setEncoding('utf8');
process.stdin.on('data', (text) => {
  const lines = (rest + text).split('\n');
  rest = lines.pop();
  for (const line of lines) handle(line);
});
process.stdin.on('end', () => process.exit(0));

// ---- part two: a tiny host. REPLACE ALL OF THIS by calls to your implementation. ------------------------------------

const KNOWN = { Completed: 'applied', Failed: 'refused', Aborted: 'not_attempted', Indeterminate: 'unknown' };
const CODES = { Failed: 'provider_refused', Aborted: 'unavailable', Indeterminate: 'outcome_unknown' };
const WAIT_MS = 20000;
const sleep = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

/** JSON with sorted members: equal text for equal values. */
function canonical(v) {
  if (Array.isArray(v)) return `[${v.map(canonical)}]`;
  if (v === null || typeof v !== 'object') return JSON.stringify(v);
  return `{${Object.keys(v).sort().map((k) => `${JSON.stringify(k)}:${canonical(v[k])}`)}}`;
}
const digest = (v) => createHash('sha256').update(canonical(v)).digest('hex');

/**
 * Keeps one file for each step of an attempt, and makes each file at most once: who makes it has won.
 * `k-…` holds a key, `a-….0` an attempt, `a-….1` its gate (Dispatching or Aborted), `a-….2` how it ended.
 */
class Host {
  constructor(dir, remote, config) { Object.assign(this, { dir, remote, config }); }

  /** One mutation: reserve the key, open the gate, send once, remember what came of it. */
  async invoke(context, request, waits) {
    const refusal = this.check(context, request);
    if (refusal) return this.error(request, refusal);
    const { request_id: original, idempotency_key: key, ...content } = request;
    const fingerprint = digest([this.config.config_revision, content]);
    const attempt = randomUUID();
    this.make(`a-${attempt}.0`, { original });
    if (key !== undefined) {
      const held = `k-${digest([context, key])}`;
      if (!this.make(held, { attempt, fingerprint })) {
        fs.unlinkSync(this.at(`a-${attempt}.0`)); // never sent, and nobody heard of it
        return this.observe(this.read(held), fingerprint, request, waits);
      }
    }
    if (!this.make(`a-${attempt}.1`, { state: 'Dispatching' })) {
      return this.answer(request, { state: 'Aborted', cause: 'unavailable' }, attempt);
    }
    const outcome = await this.send(request);
    this.make(`a-${attempt}.2`, outcome);
    return this.answer(request, outcome, attempt);
  }

  /** What was not sent is aborted; of what may have been sent nobody knows. Nothing is ever sent again. */
  recover() {
    let settled = 0;
    for (const file of fs.readdirSync(this.dir).filter((name) => /^a-.*\.0$/.test(name))) {
      const attempt = file.slice(0, -2);
      settled += this.make(`${attempt}.1`, { state: 'Aborted', cause: 'unavailable' });
      const open = this.read(`${attempt}.1`).state === 'Dispatching';
      if (open) settled += this.make(`${attempt}.2`, { state: 'Indeterminate', cause: null });
    }
    return { status: 'done', settled };
  }

  /** The code of the first check that refuses, or null. */
  check(context, request) {
    const { origin, ...who } = context;
    const callers = this.config.callers.filter((c) => Object.keys(who).every((k) => (c[k] ?? null) === who[k]));
    const operation = this.config.operations.find((o) => o.id === request.operation);
    if (!callers.some((c) => c.may.includes(request.operation))) return 'forbidden';
    if (!operation || operation.connection !== request.connection) return 'not_found';
    if (operation.revision !== request.revision) return 'stale_description';
    if (!operation.enabled) return 'forbidden';
    return (operation.idempotency === 'keyed') === Boolean(request.idempotency_key) ? null : 'invalid_input';
  }

  /** One request on one connection. Two answers are definite; everything else proves nothing. */
  send({ operation, input }) {
    const body = JSON.stringify({ marker: input.marker, input });
    const headers = { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) };
    return new Promise((resolve) => {
      const unknown = () => resolve({ state: 'Indeterminate', cause: null });
      const options = { method: 'POST', agent: false, headers, timeout: WAIT_MS };
      const request = http.request(new URL(`/effect/${operation}`, this.remote), options);
      request.on('error', unknown);
      request.on('timeout', () => request.destroy());
      request.on('response', (response) => {
        const chunks = [];
        response.on('data', (chunk) => chunks.push(chunk));
        response.on('error', unknown);
        response.on('end', () => {
          let said = null;
          try { said = JSON.parse(Buffer.concat(chunks).toString('utf8')); } catch { /* it proves nothing */ }
          const { effect, ...payload } = said ?? {};
          if (response.statusCode === 200 && effect === 'done') resolve({ state: 'Completed', result: payload });
          else if (response.statusCode === 422 && effect === 'none') resolve({ state: 'Failed', cause: payload.code });
          else unknown();
        });
      });
      request.end(body);
    });
  }

  /** Somebody else has the key: repeat how that ended, wait for it, or refuse another request. */
  async observe(held, fingerprint, request, waits) {
    if (held.fingerprint !== fingerprint) return this.error(request, 'idempotency_conflict');
    const { original } = this.read(`a-${held.attempt}.0`);
    for (let waited = 0; waited < WAIT_MS; waited += 5) {
      const gate = this.read(`a-${held.attempt}.1`);
      const end = gate?.state === 'Aborted' ? gate : this.read(`a-${held.attempt}.2`);
      if (end) return this.answer(request, end, held.attempt, original);
      if (waited === 0) waits();
      await sleep(5);
    }
    return this.answer(request, { state: 'Indeterminate', cause: 'timeout' }, held.attempt, original);
  }

  /** What the caller is told of an attempt. */
  answer(request, { state, cause = null, result }, attempt, original = null) {
    const mutation = {
      classification: KNOWN[state], attempt: { instance: this.config.instance, id: attempt },
      original_request_id: original, replayed: original !== null, cause,
    };
    const head = { version: 'v1alpha2', request_id: request.request_id, mutation };
    if (state === 'Completed') return { ...head, status: 'success', result };
    return { ...head, status: 'error', error: { code: CODES[state] } };
  }

  /** A refusal ahead of any attempt. */
  error(request, code) {
    return { version: 'v1alpha2', request_id: request.request_id, status: 'error', error: { code } };
  }

  at(name) { return path.join(this.dir, name); }

  /** Makes a file with its whole content, unless it is there: whether this call made it. */
  make(name, content) {
    const draft = this.at(`draft-${randomUUID()}`);
    fs.writeFileSync(draft, JSON.stringify(content), { flush: true });
    try {
      fs.linkSync(draft, this.at(name));
      return true;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
      return false;
    } finally {
      fs.unlinkSync(draft);
    }
  }

  /** The content of a file, or null where there is none. */
  read(name) {
    try {
      return JSON.parse(fs.readFileSync(this.at(name), 'utf8'));
    } catch (error) {
      if (error.code !== 'ENOENT') throw error;
      return null;
    }
  }
}
