/** Recognises functions that were given to Express where what they make was meant: a request is what they get then. */
import type { Router } from 'express'
import { ConfigError } from '../errors.js'

/** @throws `ConfigError` if `x402Protect` itself was given to Express. */
export function requireCall(price: unknown): void {
  if (!isRequest(price)) return
  const message = "x402Protect is called with a price: x402Protect('$0.01')"
  throw new ConfigError('price', message, 'invalid_price')
}

/** Has the maker of a router explain its missing parentheses: each request would wait for ever. */
export function routerMaker<Given extends readonly unknown[]>(
  name: string,
  make: (...given: Given) => Router,
): (...given: Given) => Router {
  return (...given) => {
    if (!isRequest(given[0])) return make(...given)
    throw new ConfigError(name, `makes a router: write app.use(${name}())`, 'invalid_type')
  }
}

function isRequest(given: unknown): boolean {
  const isObject = typeof given === 'object' && given !== null
  return isObject && 'method' in given && 'headers' in given && 'url' in given
}
