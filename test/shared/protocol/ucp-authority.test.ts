import { describe, expect, it } from '@jest/globals'
import { findNameProblems } from '../../../src/shared/protocol/ucp-authority.js'

const problemsOf = (id: string, docsUrl: string): readonly string[] =>
  findNameProblems({ id, docsUrl })

describe('the name of a handler', () => {
  it.each([
    ['xyz.vendor.gateway_payment', 'https://vendor.xyz'],
    ['xyz.vendor.gateway_payment', 'https://VENDOR.xyz.:8443/docs'],
    ['com.example.pay', 'https://pay.example.com'],
    ['com.example.pay.x402', 'https://pay.example.com/v1'],
  ])('%s may be published on %s', (id, docsUrl) => {
    expect(problemsOf(id, docsUrl)).toEqual([])
  })

  it.each([
    ['xyz.vendor.gateway_payment', 'https://pay.vendor.xyz'],
    ['xyz.vendor.gateway_payment', 'https://example.com'],
    ['com.examplecorp.pay', 'https://example.com'],
    ['com.example.pay', 'https://cdn.example.com'],
    ['com.example.pay', 'https://vendor.xyz@evil.example'],
  ])('%s may not be published on %s', (id, docsUrl) => {
    const [problem, ...others] = problemsOf(id, docsUrl)
    expect(problem).toContain(`'${id}'`)
    expect(others).toEqual([])
  })

  it('is refused with a name that would be accepted', () => {
    const [problem] = problemsOf('xyz.vendor.gateway_payment', 'https://pay.example.com')
    expect(problem).toContain("'com.example.pay.'")
  })

  it('must be published over https', () => {
    expect(problemsOf('com.example.pay', 'http://example.com')).toEqual([
      expect.stringContaining('https'),
    ])
  })

  it('must be spelt so that every version of UCP accepts it', () => {
    for (const id of ['com.my-shop.pay', 'com.2shop.pay'])
      expect(problemsOf(id, `https://${id.split('.')[1]}.com`)).toEqual([
        expect.stringContaining(`'${id}'`),
      ])
  })

  it.each([
    'http://localhost:4402',
    'http://127.0.0.1:4402',
    'http://[::1]:4402',
    'http://shop.localhost',
    'https://gateway',
  ])('does not matter on %s, which no platform reaches', (docsUrl) => {
    expect(problemsOf('xyz.vendor.gateway_payment', docsUrl)).toEqual([])
  })
})
