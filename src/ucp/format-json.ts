/** Columns that an object or array may fill on one line. */
const JSON_WIDTH = 80

/**
 * Formats JSON for readers: an object or array that fits into a short line stays on one.
 *
 * @param indent - Spaces before the line that the value begins on.
 */
export function formatJson(value: unknown, indent = ''): string {
  // Line breaks are between the members only: strings have theirs escaped.
  const spaced = JSON.stringify(value, null, 1)
  const line = spaced.replaceAll(/(?<=\[)\n *|\n *(?=\])/g, '').replaceAll(/\n */g, ' ')
  if (typeof value !== 'object' || value === null) return line
  if (line.length <= JSON_WIDTH - indent.length) return line
  const inner = `${indent}  `
  const members = Array.isArray(value)
    ? value.map((member) => formatJson(member, inner))
    : Object.entries(value).map(
        ([name, member]) => `${JSON.stringify(name)}: ${formatJson(member, inner)}`,
      )
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  return `${open}\n${inner}${members.join(`,\n${inner}`)}\n${indent}${close}`
}
