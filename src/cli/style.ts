import type { CliContext } from './context.js'

/** Colours of a terminal (ECMA-48), by what they mean. */
const CODES = { good: 32, bad: 31, odd: 33, bold: 1, faint: 2 } as const

/** What a text is coloured as. */
export type Style = keyof typeof CODES

/** Makes a function that colours texts where they are seen on a terminal, and leaves them alone elsewhere. */
export function painter({ colors = false }: Pick<CliContext, 'colors'>) {
  return (style: Style, text: string): string =>
    colors ? `\x1b[${CODES[style]}m${text}\x1b[0m` : text
}
