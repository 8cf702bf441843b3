/** Reads CSV in which no field holds a line break. */
export function readCsv(text: string): readonly Readonly<Record<string, string>>[] {
  const [head = [], ...rows] = text
    .trimEnd()
    .split('\r\n')
    .map((line) => [...line.matchAll(/("(?:[^"]|"")*"|[^,]*)(?:,|$)/g)].map(([, field]) => field!))
  return rows.map((row) => Object.fromEntries(head.map((name, index) => [name, row[index] ?? ''])))
}
