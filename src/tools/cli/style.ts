import type { CliContext } from './command.js'

/** Terminal colours (ECMA-48) by meaning. */
const CODES = { good: 32, bad: 31, odd: 33, bold: 1, faint: 2 } as const

export type Style = keyof typeof CODES

export function painter({ colors = false }: Pick<CliContext, 'colors'>) {
  return (style: Style, text: string): string =>
    colors ? `\x1b[${CODES[style]}m${text}\x1b[0m` : text
}

export function counted(count: number, one: string, several = `${one}s`): string {
  return `${count} ${count === 1 ? one : several}`
}
