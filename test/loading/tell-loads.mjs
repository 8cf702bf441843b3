// A hook of Node's loader that tells which modules are loaded.
let port

export function initialize(data) {
  port = data.port
}

export function load(url, context, nextLoad) {
  port.postMessage(url)
  return nextLoad(url, context)
}
