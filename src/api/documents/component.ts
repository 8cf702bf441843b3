/** The schemas of what endpoints answer. This folder imports zod and plain data only: the console's page reads its types. */
import { z } from 'zod'

/** All named schemas. */
export const components = z.registry<{ readonly id: string }>()

/** Names a schema. Wherever it is used, the OpenAPI document refers to it by this name. */
export function component<Schema extends z.ZodType>(id: string, schema: Schema): Schema {
  components.add(schema, { id })
  return schema
}

/** Names the schema of an object. */
export function document<Shape extends z.ZodRawShape>(
  id: string,
  description: string,
  shape: Shape,
) {
  return component(id, z.object(shape).meta({ description }))
}

export type DocumentOf<Schema extends z.ZodType> = Immutable<z.output<Schema>>

type Immutable<T> = T extends object ? { readonly [Key in keyof T]: Immutable<T[Key]> } : T

/** A document, as it is made: where it may be any object, every object will do. */
export type MadeDocument<Schema extends z.ZodType> = Made<z.output<Schema>>

type Made<T> = T extends object
  ? string extends keyof T
    ? unknown extends T[keyof T]
      ? object
      : { readonly [Key in keyof T]: Made<T[Key]> }
    : { readonly [Key in keyof T]: Made<T[Key]> }
  : T
