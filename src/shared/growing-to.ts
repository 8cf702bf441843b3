/**
 * Options of an `LRUCache` that keeps at most some entries and takes no memory before they come.
 *
 * With `max`, an `LRUCache` sets room aside for all of them: a gateway has twenty caches, and took 50 ms and 5 MB to make
 * them.
 */
export const growingTo = (entries: number) => ({ maxSize: entries, sizeCalculation: () => 1 })
