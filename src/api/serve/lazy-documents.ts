import { Lazy } from '../../shared/http/lazy.js'

/**
 * Names schemas of answers without loading their file: `documents('settlement')`. They are loaded for the API's
 * description.
 *
 * @param load - Imports the file.
 */
export function lazyDocuments<File>(load: () => Promise<File>) {
  return <Name extends keyof File>(name: Name) => new Lazy(async () => (await load())[name])
}
