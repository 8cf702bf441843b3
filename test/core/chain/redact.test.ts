import { describe, expect, it } from '@jest/globals'
import { redactUrl } from '../../../src/core/chain/rpc.js'

describe('redacting an RPC URL', () => {
  it.each([
    ['in the path', 'https://rpc.example/v2/0123456789abcdef', '0123456789abcdef'],
    ['in the query', 'https://rpc.example/?apikey=0123456789abcdef', '0123456789abcdef'],
    ['as the user', 'https://0123456789abcdef@rpc.example/', '0123456789abcdef'],
    ['as the password', 'https://me:0123456789abcdef@rpc.example/', '0123456789abcdef'],
    ['in the host', 'https://shy-blue-fog.rpc.example:8545/', 'shy-blue-fog.rpc.example'],
  ])('hides a key %s, alone and in the URL', (_name, url, secret) => {
    const { host, href } = new URL(url)
    const text = `GET ${url} failed: ${secret} at ${host}, also ${href}, twice ${secret}.`
    expect(redactUrl(text, url)).not.toContain(secret)
    expect(redactUrl(text, url)).not.toContain(host)
  })

  it('leaves the rest of a text as it is', () => {
    const url = 'https://rpc.example/v2/0123456789abcdef'
    expect(redactUrl('execution reverted: v2', url)).toBe('execution reverted: v2')
  })

  it('leaves a word as it is that is also the name of a container', () => {
    const url = 'http://node:8545/0123456789abcdef'
    const text = `the node rejected it: ECONNREFUSED node:8545, 0123456789abcdef`
    expect(redactUrl(text, url)).toBe('the node rejected it: ECONNREFUSED [redacted], [redacted]')
  })

  it('hides a text that is not a URL completely', () => {
    expect(redactUrl('cannot open ::nonsense::', '::nonsense::')).toBe('cannot open [rpc url]')
  })
})
