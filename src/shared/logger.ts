import { DOCUMENTATION } from './protocol/error-codes.js'

/**
 * Receives a gateway's reports to its operator, each a message with fields. No field contains a key, a
 * token or an RPC URL. Errors in fields are plain objects: `{ name, code, message, cause, stack }`.
 *
 * `console` and winston fit as they are. So do pino and bunyan ({@link FieldsFirstLogger}).
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
 * A logger that takes fields before the message, such as pino or bunyan. It is recognised by pino's
 * method `bindings` or bunyan's `addSerializers`.
 *
 * @example
 * ```ts
 * import { createGateway, type FieldsFirstLogger } from 'express-x402-gateway'
 *
 * const gatewayWith = (logger: FieldsFirstLogger) => createGateway({ logger })
 * ```
 */
export interface FieldsFirstLogger {
  /** Details for developers of this package. */
  debug(fields: object, message: string): void
  /** Normal events worth a line. */
  info(fields: object, message: string): void
  /** Something that an operator should look at. */
  warn(fields: object, message: string): void
  /** Something that failed. */
  error(fields: object, message: string): void
  /** The fields of every line, as pino has them. */
  bindings?(): object
  /** As bunyan has it. */
  addSerializers?(serializers: never): void
}

type Level = 'debug' | 'info' | 'warn' | 'error'

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

/** Drops everything. */
export const silentLogger: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
}

function withFields(message: string, fields?: object): string {
  const entries = Object.entries(fields ?? {})
    .filter(([, value]) => value !== undefined)
    .map(
      ([name, value]) => `${name}=${value instanceof Error ? describeError(value) : String(value)}`,
    )
  return [message, ...entries].join(' ')
}

function describeError(error: Error): string {
  const { cause } = error
  const why = cause instanceof Error ? cause.message : cause
  const message = withoutUrls(error.message)
  return typeof why === 'string' ? `${message} (${withoutUrls(why)})` : message
}

/**
 * Adapts any logger: passes fields in the order that it expects, as plain values. Errors that it throws
 * are dropped, so that they harm no payment.
 */
export function adaptLogger(given: Logger | FieldsFirstLogger): Logger {
  if (given === processWarnings) return processWarnings
  const write = (level: Level) => (message: string, fields?: object) => {
    try {
      if (takesFieldsFirst(given)) given[level](plainFields(fields), message)
      else if (fields === undefined) given[level](message)
      else given[level](message, plainFields(fields))
    } catch {
      // Nothing is left to report to.
    }
  }
  return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') }
}

function takesFieldsFirst(logger: Logger | FieldsFirstLogger): logger is FieldsFirstLogger {
  const { bindings, addSerializers } = logger as Partial<FieldsFirstLogger>
  return typeof bindings === 'function' || typeof addSerializers === 'function'
}

/** Fields as plain values, which `JSON.stringify` and `util.inspect` show whole. */
function plainFields(fields: object = {}): object {
  return Object.fromEntries(
    Object.entries(fields)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [name, plainValue(value)]),
  )
}

function plainValue(value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString()
  return value instanceof Error ? plainError(value) : value
}

/** Longest chain of causes that is written. */
const MAX_CAUSES = 5

/** An error as a plain object, with its causes, and without the URLs in its texts. */
export function plainError(error: Error, depth = 0): object {
  const { name, message, stack, cause } = error
  const { code } = error as { code?: unknown }
  return {
    name,
    ...((typeof code === 'string' || typeof code === 'number') && { code }),
    message: withoutUrls(message),
    ...(cause instanceof Error && depth < MAX_CAUSES && { cause: plainError(cause, depth + 1) }),
    ...(typeof cause === 'string' && { cause: withoutUrls(cause) }),
    ...(stack !== undefined && depth === 0 && { stack: withoutUrls(stack) }),
  }
}

/** Removes URLs of nodes, servers and databases: each may hold a key or a password. */
function withoutUrls(text: string): string {
  return text.replaceAll(
    /\b(https?|wss?|postgres(?:ql)?|rediss?):\/\/[^\s'"<>]+/gi,
    (url, scheme: string) => (url.startsWith(`${DOCUMENTATION}#`) ? url : `${scheme}://[redacted]`),
  )
}
