/** Text that is being rendered, and where the template marks what the model writes. */
import type { Budget } from './budget.ts'

/** Start and end of a marked part, as indices of the string. */
export type Mark = readonly [start: number, end: number]

export class Output {
  readonly #parts: string[] = []
  readonly #budget: Budget
  readonly marks: Mark[] = []
  length = 0

  constructor(budget: Budget) {
    this.#budget = budget
  }

  write(text: string): void {
    this.length += text.length
    this.#budget.text(this.length, text.length)
    this.#parts.push(text)
  }

  /** Writes text that was rendered elsewhere, with the marks it got there. */
  writeMarked({ text, marks }: Rendered): void {
    for (const [start, end] of marks) this.marks.push([this.length + start, this.length + end])
    this.write(text)
  }

  get rendered(): Rendered {
    return { text: this.#parts.join(''), marks: this.marks }
  }
}

export type Rendered = { text: string; marks: readonly Mark[] }
