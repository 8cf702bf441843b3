import { PassThrough } from 'node:stream'
import { describe, expect, it } from '@jest/globals'
import { Terminal } from '../../../src/tools/cli/terminal.js'

describe('a terminal', () => {
  it('answers each question with one line, also if all lines are pasted at once', async () => {
    const [input, output] = [new PassThrough(), new PassThrough({ encoding: 'utf8' })]
    const terminal = new Terminal({ input, output })
    const { signal } = new AbortController()
    const first = terminal.ask('Network: ', signal)
    input.write('base\nhttps://node.example\n\n')
    expect(await first).toBe('base')
    expect(await terminal.ask('URL: ', signal)).toBe('https://node.example')
    expect(await terminal.ask('Currency: ', signal)).toBe('')
    expect(output.read()).toBe('Network: URL: Currency: ')
    terminal.close()
  })

  it.each(['the end of the input', 'a signal'])('is cancelled by %s', async (end) => {
    const [input, output] = [new PassThrough(), new PassThrough()]
    const ending = new AbortController()
    const terminal = new Terminal({ input, output })
    const asked = terminal.ask('Network: ', ending.signal)
    if (end === 'a signal') ending.abort()
    else input.end()
    await expect(asked).rejects.toThrow('Cancelled')
    await expect(terminal.ask('URL: ', ending.signal)).rejects.toThrow('Cancelled')
  })
})
