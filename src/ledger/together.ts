/** The methods of several objects in one. */
type Together<Parts extends readonly object[]> = Parts extends readonly [infer First, ...infer Rest]
  ? Pick<First, keyof First> & (Rest extends readonly object[] ? Together<Rest> : unknown)
  : unknown

/** Makes one object of several instances of classes, whose methods have different names. */
export function together<const Parts extends readonly object[]>(...parts: Parts): Together<Parts> {
  const methods: Record<string, unknown> = {}
  for (const part of parts)
    for (const name of Object.getOwnPropertyNames(Object.getPrototypeOf(part))) {
      const member: unknown = Reflect.get(part, name)
      if (name !== 'constructor' && typeof member === 'function') methods[name] = member.bind(part)
    }
  return methods as Together<Parts>
}
