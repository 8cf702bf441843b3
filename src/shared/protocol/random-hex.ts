/** Hexadecimal text without `0x`. In browsers, too, where there is no `Buffer`. */
export function randomHex(bytes: number): string {
  return plainHexOf(crypto.getRandomValues(new Uint8Array(bytes)))
}

export function plainHexOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
