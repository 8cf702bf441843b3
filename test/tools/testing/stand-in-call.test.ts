import { describe, expect, it } from '@jest/globals'
import type { IncomingMessage } from 'node:http'
import type { Request } from 'express'
import '../../../src/tools/testing/index.js'
import { defaultGateway } from '../../../src/gateway/default-gateway.js'

describe('the default gateway of an app that is tested', () => {
  it('explains missing parentheses of x402Protect as the real one does', () => {
    const req: Pick<IncomingMessage, 'method' | 'headers' | 'url'> = {
      method: 'GET',
      headers: {},
      url: '/',
    }
    expect(() => defaultGateway().x402Protect(req as Request as never)).toThrow(
      "x402Protect is called with a price: x402Protect('$0.01')",
    )
  })
})
