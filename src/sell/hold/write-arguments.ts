/** The arguments of `write` and `end`, as Node interprets them. */
import { OutgoingMessage } from 'node:http'
import { world } from '../../shared/world.js'

/** Called once the chunk is taken, or with the error that prevents it. */
export type WriteCallback = (error?: Error | null) => void

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
 * Copies the bytes of a chunk, since its writer may reuse the memory.
 *
 * @throws What Node throws for a chunk that it would not write either.
 */
export function toBytes(chunk: unknown, encoding: BufferEncoding | undefined): Buffer {
  if (typeof chunk === 'string') return Buffer.from(chunk, encoding)
  if (chunk instanceof Uint8Array) return Buffer.from(chunk)
  new OutgoingMessage().write(chunk)
  throw new TypeError('The chunk must be a string, a Buffer or a Uint8Array.')
}

/**
 * Reports to a writer that the response has ended, or is closed.
 *
 * Uses `setImmediate`, so that a writer in a tight loop does not starve other events.
 */
export function refuseWrite(
  callback: WriteCallback | undefined,
  code: 'ERR_STREAM_WRITE_AFTER_END' | 'ERR_STREAM_DESTROYED',
): false {
  const error = Object.assign(new Error('The response is closed.'), { code })
  if (callback) world.setImmediate(() => callback(error))
  return false
}
