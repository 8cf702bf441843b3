import { expect, it } from '@jest/globals'

/** What a lane runs, by the rule of its configuration. */
async function testsOf(lane: 'unit' | 'main' | 'rest'): Promise<readonly string[]> {
  const configuration = new URL(`../.config/jest-${lane}.mjs`, import.meta.url).href
  const { default: config } = (await import(configuration)) as {
    default: { rootDir: string; testMatch: string[] }
  }
  return config.testMatch.map((file) => file.slice(config.rootDir.length))
}

it.each(['test/shared/money/decimal.test.ts', 'test/gateway/config/options.test.ts'])(
  'the fast lane runs a test that needs nothing: %s',
  async (file) => {
    expect(await testsOf('unit')).toContain(file)
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
  expect(await testsOf('unit')).not.toContain(file)
})

it.each([
  ['attacks', 'test/hostile/stranger.test.ts'],
  ['failures', 'test/faults/kills.test.ts'],
  ['browsers', 'test/pages/paywall/networks.test.ts'],
  ['other programs', 'test/e2e/packed.test.ts'],
])('`npm test` leaves %s to `npm run test:rest`: %s', async (_what, file) => {
  expect(await testsOf('rest')).toContain(file)
  expect(await testsOf('main')).not.toContain(file)
})

it('`npm test` runs everything else', async () => {
  expect(await testsOf('main')).toContain('test/sell/flow/middleware.test.ts')
  expect(await testsOf('main')).toEqual(expect.arrayContaining([...(await testsOf('unit'))]))
})
