/** As `Map.groupBy`, which Node 20 lacks. */
export function groupBy<Key, Item>(
  items: readonly Item[],
  keyOf: (item: Item, index: number) => Key,
): Map<Key, Item[]> {
  const groups = new Map<Key, Item[]>()
  for (const [index, item] of items.entries()) {
    const key = keyOf(item, index)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [item])
    else group.push(item)
  }
  return groups
}
