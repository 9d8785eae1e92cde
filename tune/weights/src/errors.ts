/**
 * What the caller gave is wrong: a file, a model, a setting. The message says what was expected and what
 * came.
 */
export class InputError extends Error {
  override name = 'InputError'
}

/** What the caller gave is right, but this program cannot do it. The message says what it can do. */
export class UnsupportedError extends Error {
  override name = 'UnsupportedError'
}
