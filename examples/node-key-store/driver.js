'use strict';
// The onceproof driver around store.js: rung L0. It translates; it decides nothing.
const { version } = require('./package.json');

const say = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);
const done = (result) => ({ outcome: 'done', result });
const unsupported = (feature, reason) => ({ outcome: 'unsupported', feature, reason });

function serve(Store, name) {
  let store = null;

  const commands = {
    'host.invoke': ({ context, request }, id) =>
      store.invoke(context, request, () => say({ event: 'waiting', id, on: 'command' })),
    'host.cancel': ({ context, request_id: requestId }) => store.cancel(context, requestId),
    'host.housekeep': () => store.housekeep(),
  };

  const verbs = {
    hello: () => done({
      v: 1, name, version, language: 'javascript', families: ['mutation-host'], rung: 'L0', clock: 'real',
    }),
    reset: ({ state, state_dir: dir, remote, config, limits }) => {
      store?.close();
      store = new Store({ dir, fresh: state === 'fresh', remote, config, limits });
      return done({});
    },
    command: async (args, id) => (Object.hasOwn(commands, args.name)
      ? done(await commands[args.name](args.args, id))
      : unsupported(args.name, 'not offered')),
    recover: () => done(store.recover()),
    bye: () => done({}),
  };

  async function handle(line) {
    const { id, cmd, args } = JSON.parse(line);
    let answer;
    try {
      answer = Object.hasOwn(verbs, cmd) ? await verbs[cmd](args, id) : unsupported(cmd, 'rung L0');
    } catch (error) {
      console.error(error);
      answer = { outcome: 'failed', detail: String(error) };
    }
    say({ id, ...answer });
    if (cmd === 'bye') process.exit(0);
  }

  // Not node:readline, which also breaks lines at U+2028 and U+2029; in JSON these may stand inside a string.
  let rest = '';
  process.stdin.setEncoding('utf8');
  process.stdin.on('data', (text) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop();
    for (const line of lines) if (line.trim()) handle(line);
  });
  process.stdin.on('end', () => process.exit(0));
}

module.exports = { serve };
if (require.main === module) serve(require('./store.js').Store, 'node-key-store');
