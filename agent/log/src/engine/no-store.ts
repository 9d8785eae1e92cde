/** The given place has no store; the message says how to create or find one. */
export class NoStore extends Error {
  override readonly name = 'NoStore'
}
