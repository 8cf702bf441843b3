import { z } from 'zod'

/** Reads an object that may have passed through PHP, which writes one without members as an empty list. */
export function fromPhp<Schema extends z.ZodType>(schema: Schema) {
  return z.preprocess((value) => (Array.isArray(value) && value.length === 0 ? {} : value), schema)
}
