import { expect, it } from '@jest/globals'

/** What `npm run test:unit` runs, by the rule of its configuration. */
async function unitTests(): Promise<readonly string[]> {
  const configuration = new URL('../.config/jest-unit.mjs', import.meta.url).href
  const { default: config } = (await import(configuration)) as {
    default: { rootDir: string; testMatch: string[] }
  }
  return config.testMatch.map((file) => file.slice(config.rootDir.length))
}

it.each(['test/shared/money/decimal.test.ts', 'test/gateway/config/options.test.ts'])(
  'the fast lane runs a test that needs nothing: %s',
  async (file) => {
    expect(await unitTests()).toContain(file)
  },
)

it.each([
  ['a chain', 'test/tools/devnet/usdc.test.ts'],
  ['a chain, by a helper of a helper', 'test/sell/flow/middleware.test.ts'],
  ['a browser', 'test/pages/paywall/networks.test.ts'],
  ['a whole gateway', 'test/sell/paywall/options.test.ts'],
  ['a database in a file', 'test/ledger/sqlite-ledger.test.ts'],
  ['a database server', 'test/ledger/postgres-ledger.test.ts'],
  ['another process', 'test/e2e/packed.test.ts'],
  ['a build', 'test/e2e/copies.test.ts'],
])('the fast lane leaves out a test that needs %s: %s', async (_need, file) => {
  expect(await unitTests()).not.toContain(file)
})
