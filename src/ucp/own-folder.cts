/**
 * Folder of this file, for what is read from beside it.
 *
 * CommonJS in both builds: an ES module has no `__dirname`, and CommonJS has no `import.meta`.
 */
export const ownFolder: string = __dirname
