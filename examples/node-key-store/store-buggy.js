'use strict';
// The same store with one bug, of the kind that many HTTP clients have built in: on a connection reset it tries again.
const { Store } = require('./store.js');

class BuggyStore extends Store {
  async send(request, timeoutMs) {
    const outcome = await super.send(request, timeoutMs);
    return outcome.error?.code === 'ECONNRESET' ? super.send(request, timeoutMs) : outcome;
  }
}

module.exports = { Store: BuggyStore };
