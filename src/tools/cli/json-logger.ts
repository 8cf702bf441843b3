import { plainError, type Logger } from '../../shared/logger.js'
import type { CliContext } from './context.js'

/** Logs each message as one line of JSON to standard error. */
export function jsonLogger({ complain }: Pick<CliContext, 'complain'>): Logger {
  const log =
    (level: string) =>
    (message: string, fields?: object): void =>
      complain(logLine(level, message, fields))
  return { debug: () => undefined, info: log('info'), warn: log('warn'), error: log('error') }
}

/** Writes errors as message, code and cause, which contain no secrets. */
function logLine(level: string, message: string, fields: object = {}): string {
  const describe = (_name: string, value: unknown): unknown => {
    if (typeof value === 'bigint') return value.toString()
    return value instanceof Error ? { ...plainError(value), stack: undefined } : value
  }
  return JSON.stringify({ level, time: new Date().toISOString(), message, ...fields }, describe)
}
