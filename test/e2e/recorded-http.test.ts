import { readFileSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { useDevnet } from '../support/devnet.js'
import { recordAnswers } from './recorded/cases.js'
import type { RecordedAnswer } from './recorded/exchange.js'
import { RecordedWorld } from './recorded/world.js'

/**
 * What the package answered, byte for byte, at a commit that is known to be good. Where an answer
 * changes on purpose: `RECORD_HTTP=1 npx jest recorded-http`, prettier, and read the difference.
 */
const FILE = new URL('recorded/answers.json', import.meta.url)
const isRecording = process.env['RECORD_HTTP'] === '1'
const recorded = isRecording
  ? []
  : (JSON.parse(readFileSync(FILE, 'utf8')) as readonly RecordedAnswer[])

const devnet = useDevnet()
let world: RecordedWorld
beforeAll(async () => {
  world = new RecordedWorld(devnet)
  await recordAnswers(world)
  if (isRecording) writeFileSync(FILE, `${JSON.stringify(world.answers, undefined, 2)}\n`)
})
afterAll(() => world.close())

const namesOf = (answers: readonly RecordedAnswer[]): string[] => answers.map((one) => one.case)

describe('HTTP answers', () => {
  it('exist for exactly the recorded cases', () => {
    expect(new Set(namesOf(world.answers)).size).toBe(world.answers.length)
    if (!isRecording) expect(namesOf(world.answers)).toEqual(namesOf(recorded))
  })

  if (!isRecording)
    it.each(recorded)('equal the recorded bytes: $case', (answer) => {
      expect(world.answers.find((one) => one.case === answer.case)).toEqual(answer)
    })
})
