/** Longest text of a server that is shown. */
const MAX_SHOWN = 200

/** A server's text without control characters, which a terminal would obey, and shortened. */
export function visible(text: string): string {
  return text.slice(0, MAX_SHOWN).replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '?')
}
