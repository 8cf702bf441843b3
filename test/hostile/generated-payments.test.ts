import { expect, it } from '@jest/globals'
import { useDevnet } from '../support/devnet.js'
import { runGenerated } from './generator/run.js'

const devnet = useDevnet()

it('no handler runs without its transfer, whatever is made of 150 valid payments', async () => {
  const { violations } = await runGenerated(devnet, { seed: 37, cases: 150 })
  expect(violations).toEqual([])
})
