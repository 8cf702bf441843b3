/** A copy of a text, to be kept: of a slice, the engine keeps the whole text that it was cut from. */
export function ownText(slice: string): string {
  return Buffer.from(slice).toString()
}
