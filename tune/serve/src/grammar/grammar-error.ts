/** An error in a grammar or schema from a client. */
export class GrammarError extends Error {
  override name = 'GrammarError'
}
