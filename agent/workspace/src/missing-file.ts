/** Telling "there is no such file" from everything else that can go wrong with one. */

/**
 * What was found, or null where nothing is. Any other failure (no permission, a broken disk) is thrown: it
 * says nothing about the file.
 */
export const unlessMissing = <T>(found: Promise<T>): Promise<T | null> =>
  found.catch((thrown: unknown) => {
    const code = thrown instanceof Error && 'code' in thrown ? thrown.code : undefined
    if (code === 'ENOENT' || code === 'ENOTDIR') return null
    throw thrown
  })
