/**
 * The templates next to this file. `{{name}}` stands for a value.
 *
 * CommonJS in both builds: an ES module has no `__dirname` and, in Node 20, imports no JSON without a
 * warning. Bundlers include what is required by name.
 */
export const templates: {
  /** Folder of the template in Markdown; empty in a bundle that is an ES module. */
  readonly folder: string
  /** Examples of both documents, by name; each may use those before it. */
  readonly examples: object
  /** The JSON schema (draft 2020-12) of the handler, without the definitions of the next one. */
  readonly handlerSchema: object
  /** The JSON schema (draft 2020-12) of the handler's instruments. */
  readonly instrumentSchema: object
} = {
  folder: typeof __dirname === 'string' ? __dirname : '',
  examples: require('./examples.json'),
  handlerSchema: require('./schema.json'),
  instrumentSchema: require('./instrument_schema.json'),
}
