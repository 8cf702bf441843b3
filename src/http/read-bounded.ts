/**
 * Reads the text of an answer, and no more than so many bytes of it.
 *
 * What a stranger sends is not kept in memory beyond that: the connection is given up.
 *
 * @returns `undefined` for a longer one.
 */
export async function readBounded(
  response: Response,
  maxBytes: number,
): Promise<string | undefined> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  // Leaving the loop ends the stream, and with it the connection.
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength
    if (bytes > maxBytes) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
