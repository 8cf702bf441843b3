/** Asks a real gateway which endpoints it has. */
import { afterAll, beforeAll } from '@jest/globals'
import express from 'express'
import { createGateway, type Gateway } from '../../src/gateway/gateway.js'
import { listen, type TestServer } from '../support/http.js'

/** A gateway with all its faces. */
let gateway: Gateway
let server: TestServer

/** Runs the gateway that {@link isEndpoint} asks, for the tests of a file. */
export function useEndpoints(): void {
  beforeAll(async () => {
    gateway = createGateway({ admin: { tokens: ['a-token-of-an-operator'] }, metrics: true })
    const app = express()
    app.use(gateway.gatewayRouter(), gateway.healthRouter(), gateway.metricsRouter())
    server = await listen(app)
  })
  afterAll(async () => {
    await server.close()
    await gateway.close()
  })
}

/** Tells whether the gateway has an endpoint. Parts of the path in braces stand for anything. */
export async function isEndpoint(method: string, path: string): Promise<boolean> {
  const url = `${server.url}${path.replaceAll(/\{\w+\}/g, 'x')}`
  const { status, headers } = await fetch(url, { method, redirect: 'manual' })
  if (status !== 404) return status !== 405
  // An endpoint may not find what its path names; only the others are unknown to everybody.
  const allowed = await fetch(url, { method: 'OPTIONS' })
  return headers.get('content-type')?.includes('json') === true && allowed.status === 204
}
