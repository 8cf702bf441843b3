/** Most that run side by side: more would wait longer for a connection than a busy machine allows. */
const FEW = 10

/** Runs something for each of many, a few side by side. */
export async function fewAtOnce<One>(
  many: readonly One[],
  run: (one: One) => Promise<unknown>,
): Promise<void> {
  for (let index = 0; index < many.length; index += FEW)
    await Promise.all(many.slice(index, index + FEW).map((one) => run(one)))
}
