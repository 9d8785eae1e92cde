/** Distinguishes a missing file from other errors. */

/**
 * The result, or null if the file does not exist. Other errors (permissions, a broken disk) are thrown,
 * because they do not mean that it is missing.
 */
export const unlessMissing = <T>(found: Promise<T>): Promise<T | null> =>
  found.catch((error: unknown) => {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'ENOENT' || code === 'ENOTDIR') return null
    throw error
  })
