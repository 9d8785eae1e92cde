/**
 * The caller's input is invalid: a file, a model, a setting. The message names what was expected and what was
 * found.
 */
export class InputError extends Error {
  override name = 'InputError'
}

/** The input is valid, but not supported. The message names what is supported. */
export class UnsupportedError extends Error {
  override name = 'UnsupportedError'
}
