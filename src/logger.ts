/** Where a gateway reports what no caller is told. Structured: a message and its fields. */
export interface Logger {
  debug(message: string, fields?: object): void
  info(message: string, fields?: object): void
  warn(message: string, fields?: object): void
  error(message: string, fields?: object): void
}

/**
 * The logger of a gateway that was given none: warnings and errors become Node's own process
 * warnings, which go to standard error and to `process.on('warning')`; the rest is dropped.
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
