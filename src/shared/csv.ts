/** A line by RFC 4180. */
export function csvLine(values: ReadonlyArray<string | number | boolean | undefined>): string {
  return `${values.map((value) => csvField(String(value ?? ''))).join(',')}\r\n`
}

/**
 * Where a spreadsheet would begin to compute: before `=`, `+`, `-` and `@`, their wide forms, tab, return and
 * line feed. A field begins at its start and, for a spreadsheet that splits at semicolons or tabs, behind each
 * of them.
 */
const FORMULA = /(^|[;\t])(?=\s*[=+\-@\t\r\n＝＋－＠])/gu

/** A number, which no spreadsheet takes for a formula. */
const NUMBER = /^-?\d+(\.\d+)?$/

/** A field. A quote before what looks like a formula keeps spreadsheets from computing it. */
function csvField(text: string): string {
  if (NUMBER.test(text)) return text
  const safe = text.replaceAll(FORMULA, "$1'")
  return /[",;\t\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
