// Jest's runtime, except that Node itself loads a test file and what it imports. Test files that run in one process share the
// modules of src/ and of packages: to load a gateway takes seconds of CPU, which Jest's own runtime spends for each file.
// No file has globals of its own.
const { register } = require('node:module')
const { pathToFileURL } = require('node:url')
const JestRuntime = require('jest-runtime').default

register('./loader.mjs', pathToFileURL(__filename))

/** Globals that a file must not find: who is told of its tests' events, and the default gateway. */
const LEFT = [Symbol.for('EVENT_HANDLERS'), Symbol.for('express-x402-gateway.default')]

let files = 0

module.exports = class SharedRuntime extends JestRuntime {
  #file = ++files

  /** Loads the part of Jest that collects and runs tests: a new one for each file, outside a VM. */
  requireInternalModule(path) {
    delete require.cache[path]
    for (const left of LEFT) delete globalThis[left]
    return require(path)
  }

  setGlobalsForRuntime(globals) {
    globalThis[Symbol.for('globals of the test file')] = globals
  }

  unstable_importModule(path) {
    // Node's own stacks: Jest maps only what it has compiled itself.
    delete Error.prepareStackTrace
    process.setSourceMapsEnabled(true)
    return import(`${pathToFileURL(path).href}?file=${this.#file}`)
  }
}
