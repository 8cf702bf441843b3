/** Columns up to which an object or array stays on one line. */
const JSON_WIDTH = 80

/**
 * Formats JSON for people: an object or array that fits on a short line stays on one.
 *
 * @param indent - Spaces in front of the line on which the value begins.
 */
export function formatJson(value: unknown, indent = ''): string {
  // Every line break is between members: JSON escapes those inside strings.
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
