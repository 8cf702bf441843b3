import { spawn } from 'node:child_process'
import { once } from 'node:events'

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

/** Runs a script of Node's. */
export function startProgram(
  args: readonly string[],
  { cwd, env }: { cwd?: string; env?: Readonly<Record<string, string | undefined>> },
): Program {
  const child = spawn(process.execPath, args, {
    ...(cwd !== undefined && { cwd }),
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = once(child, 'close').then(([code]) => code as number | null)
  ended.catch(() => undefined)
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk
    })

  return {
    output: () => output,
    async prints(pattern) {
      for (;;) {
        const found = pattern.exec(output)?.[1]
        if (found !== undefined) return found
        if (child.exitCode !== null || child.signalCode !== null)
          throw new Error(`It has ended without printing ${pattern}:\n${output}`)
        await Promise.race([once(child.stdout, 'data'), ended])
      }
    },
    exitCode: () => ended,
    end(signal) {
      child.kill(signal)
      return ended
    },
  }
}
