import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { until } from './until.js'

/** A Node program that a test runs. */
export interface Program {
  /** Everything printed so far. */
  output(): string
  /** Resolves with the first group of the pattern, once that is printed. */
  prints(pattern: RegExp): Promise<string>
  /** Resolves when the program has ended. */
  exitCode(): Promise<number | null>
  /** Sends it a signal; resolves when it has ended. */
  end(signal: NodeJS.Signals): Promise<number | null>
}

/** How a program is run. */
interface ProgramOptions {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string | undefined>>
  /** Path of the Node that runs it. @defaultValue the one that runs the tests */
  readonly node?: string
}

/** Runs a script of Node's. */
export function startProgram(
  args: readonly string[],
  { cwd, env, node = process.execPath }: ProgramOptions,
): Program {
  const child = spawn(node, args, {
    ...(cwd !== undefined && { cwd }),
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = once(child, 'close').then(([code]) => code as number | null)
  let isEnded = false
  void ended.then(
    () => (isEnded = true),
    () => (isEnded = true),
  )
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk
    })

  return {
    output: () => output,
    async prints(pattern) {
      let found: string | undefined
      await until(() => {
        found = pattern.exec(output)?.[1]
        // Its exit alone says nothing: what it has printed may still be on its way.
        return found !== undefined || isEnded
      })
      if (found !== undefined) return found
      throw new Error(`It has ended without printing ${pattern}:\n${output}`)
    },
    exitCode: () => ended,
    end(signal) {
      child.kill(signal)
      return ended
    },
  }
}
