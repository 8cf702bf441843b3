/** A schema of an answer, which is loaded when somebody asks for the description of the API. */
export interface Lazy<Schema> {
  readonly load: () => Promise<Schema>
}

/**
 * Names the schemas in a file of documents, and does not load it: `documents('settlement')`.
 *
 * @param load - Imports the file.
 */
export function lazyDocuments<File>(load: () => Promise<File>) {
  return <Name extends keyof File>(name: Name): Lazy<File[Name]> => ({
    load: async () => (await load())[name],
  })
}
