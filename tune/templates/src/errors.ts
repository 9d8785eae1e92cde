/** An error of a template: in its text, or while it runs. `line` counts from 1. */
export class TemplateError extends Error {
  readonly line: number | undefined

  constructor(message: string, line?: number, options?: ErrorOptions) {
    super(message, options)
    this.name = 'TemplateError'
    this.line = line
  }

  /** The same error with the line where it happened, unless it has one. */
  at(line: number): TemplateError {
    return this.line === undefined ? new TemplateError(this.message, line, { cause: this }) : this
  }

  /** The message for people: what a template raises itself has no line in front. */
  get shown(): string {
    return this.text
  }

  /** The message with the line in front. */
  get text(): string {
    return this.line === undefined ? this.message : `line ${this.line}: ${this.message}`
  }
}

/** An error that the template raised itself with `raise_exception`. Its message is for the caller. */
export class RaisedError extends TemplateError {
  override get shown(): string {
    return this.message
  }

  override at(line: number): RaisedError {
    if (this.line !== undefined) return this
    return new RaisedError(this.message, line, { cause: this })
  }
}
