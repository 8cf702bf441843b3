/**
 * Indents JSON without parsing values, which would change numbers beyond 2^53.
 *
 * @returns The unchanged text if it is not JSON.
 */
export function prettyJson(json: string): string {
  try {
    JSON.parse(json)
  } catch {
    return json
  }
  let depth = 0
  return tokensOf(json)
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

/** Splits JSON into strings, punctuation and other values. */
function tokensOf(json: string): readonly string[] {
  const tokens: string[] = []
  const start = /["{}[\],:]|[^\s{}[\],:"]+/g
  for (let found = start.exec(json); found !== null; found = start.exec(json)) {
    if (found[0] === '"') start.lastIndex = endOfString(json, start.lastIndex)
    tokens.push(json.slice(found.index, start.lastIndex))
  }
  return tokens
}

/** One expression for whole strings would exhaust the browser's stack after some megabytes. */
function endOfString(json: string, from: number): number {
  const part = /\\.|"/g
  part.lastIndex = from
  while (part.exec(json)?.[0].startsWith('\\')) continue
  return part.lastIndex
}

const OPENING = ['{', '[']
const CLOSING = ['}', ']']

const newLine = (depth: number): string => `\n${'  '.repeat(depth)}`
