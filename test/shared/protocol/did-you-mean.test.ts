import { describe, expect, it } from '@jest/globals'
import { closestName, suggestName } from '../../../src/shared/protocol/did-you-mean.js'

const NAMES = ['payTo', 'currency', 'serve', 'X402_PAY_TO', 'X402_RPC_URL']

describe('an unknown name', () => {
  it.each([
    ['payto', 'payTo'],
    ['pay-to', 'payTo'],
    ['curency', 'currency'],
    ['evrse', undefined],
    ['sevre', 'serve'],
    ['X402_PAYTO', 'X402_PAY_TO'],
    ['X402_RPCURL', 'X402_RPC_URL'],
    ['', undefined],
    ['webhook', undefined],
  ])('%j was probably meant as %j', (written, meant) => {
    expect(closestName(written, NAMES)).toBe(meant)
  })

  it('is answered with the closest name, or with all names', () => {
    expect(suggestName('sevre', NAMES)).toBe("did you mean 'serve'?")
    expect(suggestName('webhook', ['a', 'b'])).toBe('there is a, b')
    expect(suggestName('webhook', [])).toBe('nothing is taken')
  })

  it('can be the beginning of one name, but not of several', () => {
    expect(closestName('desc', ['description', 'mimeType'])).toBe('description')
    expect(closestName('max', ['maxHeldBytes', 'maxTimeoutSeconds'])).toBeUndefined()
    expect(closestName('foo', ['now'])).toBeUndefined()
  })

  it('can be one name with more behind it', () => {
    expect(closestName('maxHeldBytesTotal', ['maxHeldBytes', 'allowFree'])).toBe('maxHeldBytes')
    expect(closestName('base-mainnet', ['base', 'base-sepolia'])).toBe('base')
    expect(closestName('v1Buyers', ['v1'])).toBeUndefined()
  })

  it('takes little time, however long it is', () => {
    expect(closestName('x'.repeat(1e6), NAMES)).toBeUndefined()
  })
})
