/** Longest line of an object or array (columns). */
const JSON_WIDTH = 80

/**
 * Formats JSON for people: objects and arrays that fit stay on one line.
 *
 * @param indent - Indentation of the line.
 */
export function formatJson(value: unknown, indent = ''): string {
  // Line breaks are between members only: JSON escapes those in strings.
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
