/** The arguments of `write` and `end`, as Node reads them. */

/** Told once a chunk was taken, or why it was not. */
export type WriteCallback = (error?: Error | null) => void

/** What may follow a chunk. */
export function optionalArguments(rest: readonly unknown[]): {
  encoding: BufferEncoding | undefined
  callback: WriteCallback | undefined
} {
  const [first, second] = rest
  return {
    encoding: typeof first === 'string' ? (first as BufferEncoding) : undefined,
    callback: [first, second].find((one): one is WriteCallback => typeof one === 'function'),
  }
}

/**
 * The bytes of a chunk: a copy, since its writer may use the memory again.
 *
 * @throws TypeError for what Node would not write either.
 */
export function toBytes(chunk: unknown, encoding: BufferEncoding | undefined): Buffer {
  if (typeof chunk === 'string') return Buffer.from(chunk, encoding)
  if (chunk instanceof Uint8Array) return Buffer.from(chunk)
  throw new TypeError('The chunk must be a string, a Buffer or a Uint8Array.')
}
