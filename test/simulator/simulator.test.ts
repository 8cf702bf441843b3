import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from '@jest/globals'

const RUN = fileURLToPath(new URL('run.mjs', import.meta.url))

const simulate = async (...args: readonly string[]): Promise<string> =>
  (await promisify(execFile)(process.execPath, [RUN, ...args])).stdout

it('does the same for the same seed, and something else for another', async () => {
  const traceOf = async (seed: string) =>
    /trace [0-9a-f]{64}/.exec(await simulate('--seed', seed, '--payments', '150'))![0]
  const first = await traceOf('1')
  expect(await traceOf('1')).toBe(first)
  expect(await traceOf('2')).not.toBe(first)
})

it('finds a planted fault, and tells the story of its payment', async () => {
  const planted = simulate('--payments', '150', '--mutation', 'answers that failed are charged for')
  await expect(planted).rejects.toMatchObject({
    stdout: expect.stringMatching(
      /charged for what is free[^]*signs 0x[^]*presents it at gateway-[^]* violations, /,
    ),
  })
})
