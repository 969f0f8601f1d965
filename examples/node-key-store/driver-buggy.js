'use strict';
require('./driver.js').serve(require('./store-buggy.js').Store, 'node-key-store-buggy');
