/** Tells in words that Node is too old. Entry points import it first: what follows needs what older ones lack. */
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < 20 || (major === 20 && minor < 19))
  throw new Error(`express-x402-gateway needs Node 20.19 or newer; this is ${process.version}.`)
