/**
 * Receives what a gateway reports to its operator, as a message with fields. No field contains a
 * key, a token or an RPC URL.
 *
 * @example
 * ```ts
 * import type { Logger } from 'express-x402-gateway'
 *
 * const log = (level: string) => (message: string, fields?: object) =>
 *   void process.stderr.write(`${JSON.stringify({ level, message, ...fields })}\n`)
 * const logger: Logger = {
 *   debug: () => undefined,
 *   info: log('info'),
 *   warn: log('warn'),
 *   error: log('error'),
 * }
 * ```
 */
export interface Logger {
  /** Details for developers of this package. */
  debug(message: string, fields?: object): void
  /** Normal events worth a line. */
  info(message: string, fields?: object): void
  /** Something that an operator should look at. */
  warn(message: string, fields?: object): void
  /** Something that failed. */
  error(message: string, fields?: object): void
}

/**
 * The default logger: warnings and errors become Node's process warnings, which go to standard
 * error and to `process.on('warning')`. The rest is dropped.
 */
export const processWarnings: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: (message, fields) => process.emitWarning(withFields(message, fields), 'X402Warning'),
  error: (message, fields) => process.emitWarning(withFields(message, fields), 'X402Error'),
}

function withFields(message: string, fields?: object): string {
  const entries = Object.entries(fields ?? {}).map(
    ([name, value]) => `${name}=${value instanceof Error ? describeError(value) : String(value)}`,
  )
  return [message, ...entries].join(' ')
}

function describeError(error: Error): string {
  const { cause } = error
  return cause instanceof Error ? `${error.message} (${cause.message})` : error.message
}
