/** The server cannot keep what it acknowledges. */
export class UnsafeServer extends Error {
  override readonly name = 'UnsafeServer'
}
