/**
 * Indents JSON. Numbers and strings stay as they were written: parsed and written again, an amount beyond
 * 2^53 would be another one.
 *
 * @returns The text as it is if it is no JSON.
 */
export function prettyJson(json: string): string {
  try {
    JSON.parse(json)
  } catch {
    return json
  }
  let depth = 0
  return (json.match(TOKENS) ?? [])
    .map((token, place, tokens) => {
      switch (token) {
        case '{':
        case '[':
          depth += 1
          return CLOSING.includes(tokens[place + 1] ?? '') ? token : token + newLine(depth)
        case '}':
        case ']':
          depth -= 1
          return OPENING.includes(tokens[place - 1] ?? '') ? token : newLine(depth) + token
        case ',':
          return token + newLine(depth)
        default:
          return token === ':' ? ': ' : token
      }
    })
    .join('')
}

/** Strings, punctuation, and everything else that is not white space. */
const TOKENS = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g

const OPENING = ['{', '[']
const CLOSING = ['}', ']']

const newLine = (depth: number): string => `\n${'  '.repeat(depth)}`
