import { afterEach, expect } from '@jest/globals'
import type { Devnet } from '../../src/tools/devnet/index.js'
import { openWorld, type World, type WorldOptions } from './world.js'

/**
 * Opens worlds for tests. After every test the oracle is asked about each of them.
 *
 * @param usual - What all of them have in common.
 */
export function useWorlds(
  devnet: Devnet,
  usual: WorldOptions = {},
): (options?: WorldOptions) => Promise<World> {
  const opened: World[] = []
  afterEach(async () => {
    const worlds = opened.splice(0)
    try {
      for (const world of worlds) expect(await world.violations()).toEqual([])
    } finally {
      for (const world of worlds) await world.close()
    }
  })
  return async (options) => {
    const world = await openWorld(devnet, { ...usual, ...options })
    opened.push(world)
    return world
  }
}
