/**
 * Bounds the work of a template, which comes with a model and may never end. Every evaluated part of it
 * costs one unit, and so does every item that it copies and every 16 characters that it makes.
 */
import { TemplateError } from './errors.ts'

/** A few seconds on a slow machine. A long conversation needs less than a hundredth. */
const MAX_WORK = 20_000_000
/** Units for each character of the messages, so that a long conversation is not refused. */
const WORK_PER_CHARACTER = 50
const MAX_TEXT_LENGTH = 2 ** 27
const MAX_LIST_LENGTH = 2 ** 23
const MAX_DEPTH = 200
const CHARACTERS_PER_UNIT = 16

export class Budget {
  #left: number
  #depth = 0

  constructor(inputCharacters: number, maxWork = MAX_WORK) {
    this.#left = maxWork + WORK_PER_CHARACTER * inputCharacters
  }

  spend(units: number): void {
    this.#left -= units
    if (this.#left < 0)
      throw new TemplateError('the template does too much work; does one of its loops never end?')
  }

  /** Called before a text of this length is made. `added` is how much of it is copied. */
  text(length: number, added = length): void {
    if (length > MAX_TEXT_LENGTH)
      throw new TemplateError(`a text of ${length} characters is too long; the maximum is ${MAX_TEXT_LENGTH}`)
    this.spend(added / CHARACTERS_PER_UNIT)
  }

  list(length: number): void {
    if (length > MAX_LIST_LENGTH)
      throw new TemplateError(`a list of ${length} items is too long; the maximum is ${MAX_LIST_LENGTH}`)
    this.spend(length)
  }

  /** Runs the body of a macro or of a recursive loop. */
  nested<T>(run: () => T): T {
    if (this.#depth >= MAX_DEPTH)
      throw new TemplateError(`maximum recursion depth exceeded: ${MAX_DEPTH} nested calls`)
    this.#depth++
    try {
      return run()
    } finally {
      this.#depth--
    }
  }
}
