/** The server's settings do not make acknowledged commits durable. */
export class UnsafeServer extends Error {
  override readonly name = 'UnsafeServer'
}
