/** Compiles and renders chat templates. */
import { Budget } from './budget.ts'
import { TemplateError } from './errors.ts'
import { Evaluator } from './evaluator.ts'
import { fromJson } from './from-json.ts'
import type { Mark } from './output.ts'
import { Renderer } from './renderer.ts'
import { Scope } from './scope.ts'
import { parse } from './syntax/parser.ts'
import { usedNames } from './syntax/used-names.ts'

export type RenderSettings = {
  /** The time of `strftime_now`. */
  now?: () => Date
  /** Units of work, for tests. */
  maxWork?: number
}

export type RenderedTemplate = {
  text: string
  /**
   * The parts that `{% generation %}` encloses, as indices of the text, in order. Undefined if the place of
   * one is not known, because the template changed the text after it was marked.
   */
  marks: readonly Mark[] | undefined
}

export type Template = {
  render: (variables: Readonly<Record<string, unknown>>, settings?: RenderSettings) => RenderedTemplate
  /** Whether the template reads a variable. */
  reads: (name: string) => boolean
}

/** Throws a TemplateError if the template cannot be parsed, or fails to render. */
export function compileTemplate(source: string): Template {
  const body = bounded(() => parse(source))
  return {
    render: (variables, { now = () => new Date(), maxWork } = {}) =>
      bounded(() => {
        const root = new Scope()
        let characters = 0
        for (const [name, value] of Object.entries(variables)) {
          if (value === undefined) continue
          const converted = fromJson(value)
          characters += converted.characters
          root.set(name, converted.value)
        }
        const budget = new Budget(characters, maxWork)
        return new Renderer(new Evaluator(budget, now), root).run(body)
      }),
    reads: name => usedNames(body).has(name),
  }
}

/** Text and values that are nested too deeply exhaust the stack. */
function bounded<T>(run: () => T): T {
  try {
    return run()
  } catch (error) {
    if (error instanceof RangeError && error.message.includes('call stack'))
      throw new TemplateError('maximum recursion depth exceeded', undefined, { cause: error })
    throw error
  }
}
