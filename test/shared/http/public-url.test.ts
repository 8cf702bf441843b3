import { describe, expect, it } from '@jest/globals'
import express from 'express'
import supertest from 'supertest'
import { publicRootOf } from '../../../src/shared/http/public-url.js'

/** How an app is set up. */
interface Setup {
  readonly trustProxy?: boolean | number | string
  readonly publicUrl?: string
}

/** The root that an app takes a request to have. */
async function rootOf(headers: Record<string, string>, setup: Setup = {}): Promise<string> {
  const { trustProxy = false, publicUrl } = setup
  const app = express()
  app.set('trust proxy', trustProxy)
  app.get('/', (req, res) => void res.send(publicRootOf(req, publicUrl)))
  const { text } = await supertest(app).get('/').set(headers)
  return text
}

describe('the public root of a request', () => {
  const forwarded = {
    Host: 'app:4021',
    'X-Forwarded-Host': 'shop.example:8443',
    'X-Forwarded-Proto': 'https',
  }

  it('is its own host and port by default', async () => {
    expect(await rootOf({ Host: 'app:4021' })).toBe('http://app:4021')
  })

  it.each(['web.1', '256.1.1.1', 'xn--a', 'shop.example:99999'])(
    'is localhost where a buyer names %s, which no URL has as its host',
    async (Host) => {
      expect(await rootOf({ Host })).toBe('http://localhost')
    },
  )

  it('is the forwarded one, with its port, if the proxy is trusted', async () => {
    expect(await rootOf(forwarded, { trustProxy: true })).toBe('https://shop.example:8443')
    expect(await rootOf(forwarded, { trustProxy: 1 })).toBe('https://shop.example:8443')
    expect(await rootOf(forwarded, { trustProxy: 'loopback' })).toBe('https://shop.example:8443')
  })

  it('ignores the forwarded one if the proxy is not trusted', async () => {
    expect(await rootOf(forwarded)).toBe('http://app:4021')
    expect(await rootOf(forwarded, { trustProxy: '10.0.0.1' })).toBe('http://app:4021')
  })

  it('keeps the forwarded port if the host names are equal', async () => {
    const headers = { Host: 'localhost:4021', 'X-Forwarded-Host': 'localhost:8080' }
    expect(await rootOf(headers, { trustProxy: true })).toBe('http://localhost:8080')
  })

  it('is the first host of several proxies', async () => {
    const headers = { ...forwarded, 'X-Forwarded-Host': 'shop.example, inner.example' }
    expect(await rootOf(headers, { trustProxy: true })).toBe('https://shop.example')
  })

  it('is the configured one, whatever the request says', async () => {
    const publicUrl = 'https://pay.example'
    expect(await rootOf(forwarded, { trustProxy: true, publicUrl })).toBe(publicUrl)
  })
})
