import { parse, printParseErrorCode, stripComments, type ParseError } from 'jsonc-parser'
import { ConfigError } from '../../../shared/errors.js'

/** What the parser expected, for people, by the name of its error. */
const MISTAKES: Readonly<Record<string, string>> = {
  CloseBraceExpected: 'a comma or } is expected',
  CloseBracketExpected: 'a comma or ] is expected',
  ColonExpected: 'a colon is expected',
  CommaExpected: 'a comma is expected',
  EndOfFileExpected: 'the end of the file is expected',
  InvalidCharacter: 'this character cannot stand in a text',
  InvalidCommentToken: 'a comment is // or /* … */',
  InvalidEscapeCharacter: 'there is no such escape after \\',
  InvalidNumberFormat: 'this is not a number',
  InvalidSymbol: 'a text in double quotes, a number, true, false or null is expected',
  InvalidUnicode: 'four hexadecimal digits are expected after \\u',
  PropertyNameExpected: 'the name of a member is expected: is there a comma too many?',
  UnexpectedEndOfComment: 'a comment is not closed',
  UnexpectedEndOfNumber: 'a number is not complete',
  UnexpectedEndOfString: 'a text is not closed on its line',
  ValueExpected: 'a value is expected',
}

/**
 * Parses a configuration file: JSON, with comments.
 *
 * @param path - Its name, for errors.
 * @returns What it holds.
 * @throws {@link ConfigError} with line, column and what is expected there. The text is never
 * repeated: it may be a key.
 */
export function parseConfig(path: string, text: string): unknown {
  // Editors of Windows write a byte-order mark.
  const json = text.replace(/^\uFEFF/, '')
  const errors: ParseError[] = []
  parse(json, errors, { allowTrailingComma: false, disallowComments: false })
  const [first] = errors
  if (first === undefined) return JSON.parse(stripComments(json)) as unknown
  const lines = json.slice(0, first.offset).split('\n')
  const where = `line ${lines.length}, column ${(lines.at(-1)?.length ?? 0) + 1}`
  const mistake = MISTAKES[printParseErrorCode(first.error)] ?? 'something else is expected'
  throw new ConfigError('config', `${path} is not JSON (${where}): ${mistake}`, 'invalid_file')
}
