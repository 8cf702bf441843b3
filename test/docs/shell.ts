/** Reads the shell commands of the documentation. */

/** One command: its words, without redirections. */
export type ShellCommand = readonly string[]

const WORD = /'[^']*'|"[^"]*"|&&|\||>|[^\s'"&|>]+/g

/** The commands of a block marked `sh`, in order. */
export function commandsIn(code: string): readonly ShellCommand[] {
  const lines = code.replaceAll(/\\\n\s*/g, ' ').split('\n')
  return lines
    .map((line) => line.replace(/(^|\s)#.*$/, ''))
    .flatMap((line) => splitLine(line))
    .filter((command) => command.length > 0)
}

function splitLine(line: string): readonly ShellCommand[] {
  const commands: string[][] = [[]]
  const words = glueWords(line)
  for (let index = 0; index < words.length; index++) {
    const word = words[index]!
    if (word === '&&' || word === '|') commands.push([])
    else if (word === '>') index++
    else commands.at(-1)!.push(word)
  }
  return commands
}

/** Splits a line into words; what stands together without a space is one. */
function glueWords(line: string): readonly string[] {
  const words: string[] = []
  let end = -1
  for (const { 0: part, index } of line.matchAll(WORD)) {
    const isOperator = /^(?:&&|\||>)$/.test(part)
    const text = /^['"]/.test(part) ? part.slice(1, -1) : part
    if (index === end && !isOperator) words.push(`${words.pop() ?? ''}${text}`)
    else words.push(text)
    end = isOperator ? -1 : index + part.length
  }
  return words
}
