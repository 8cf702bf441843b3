/** A process that forgets to close its shop, and one whose timers are faked. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { afterEach, describe, expect, it, jest } from '@jest/globals'
import express from 'express'
import { startTestShop } from '../../../src/tools/testing/index.js'

const SHOP = `
import express from 'express'
import { startTestShop } from './src/tools/testing/index.ts'
const shop = await startTestShop(({ x402Protect }) =>
  express().get('/report', x402Protect('$0.25'), (_req, res) => void res.send('sold')))
`
const BUY = `console.log(await (await shop.buy('/report')).text())\n`

/** Runs a program in the repository. */
async function run(code: string) {
  const args = ['--import', './test/support/typescript.mjs', '--input-type=module', '--eval', code]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  const [printed, complained] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ])
  return { code: child.exitCode, printed, complained }
}

describe('a shop that was left open', () => {
  it('lets its process end, and says so', async () => {
    const { code, printed, complained } = await run(SHOP + BUY)
    expect(printed).toBe('sold\n')
    expect(code).toBe(0)
    expect(complained).toContain('A test shop was left open. Call `await shop.close()`')
  })

  it('is closed in silence by close(), although nothing else keeps the process up', async () => {
    const end = `await shop.close()\nconsole.log('closed')\n`
    const { code, printed, complained } = await run(SHOP + BUY + end)
    expect(printed).toBe('sold\nclosed\n')
    expect(code).toBe(0)
    expect(complained).not.toContain('left open')
  })
})

describe('a shop under fake timers', () => {
  afterEach(() => {
    jest.useRealTimers()
  })

  it('is refused, and named as the reason why nothing happens', async () => {
    jest.useFakeTimers()
    await expect(startTestShop(() => undefined as never)).rejects.toThrow('timers are faked')
  })

  it('sells under timers that go on by themselves', async () => {
    jest.useFakeTimers({ advanceTimers: true, doNotFake: ['Date'] })
    const shop = await startTestShop(({ x402Protect }) =>
      express().get('/report', x402Protect('$0.25'), (_req, res) => void res.send('sold')),
    )
    expect(await (await shop.buy('/report')).text()).toBe('sold')
    await shop.close()
  })

  it('is refused with those of node:test', async () => {
    const fake = `import { mock } from 'node:test'\nmock.timers.enable(['setTimeout'])\n`
    const { code, complained } = await run(fake + SHOP)
    expect(code).toBe(1)
    expect(complained).toContain('timers are faked')
  })
})
