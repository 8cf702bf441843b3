// Gives `fs` a name that Node 20 lacks, for a program that imports it and does not use it here. Run the program with
// `--import` of this file.
import { register } from 'node:module'

const FS = 'data:text/javascript,export * from "node:fs"; export const globSync = undefined'
const hooks = `export const resolve = (name, context, next) =>
  name === 'fs' ? { url: '${FS}', shortCircuit: true } : next(name, context)`
register(`data:text/javascript,${encodeURIComponent(hooks)}`)
