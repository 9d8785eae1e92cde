/** What is wrong with a grammar or schema that a client sent. */
export class GrammarError extends Error {
  override name = 'GrammarError'
}
