/** Macros, and the bodies of call blocks, which are macros without a name. */
import { TemplateError } from './errors.ts'
import type { Body, Parameter } from './syntax/nodes.ts'
import { usedNames } from './syntax/used-names.ts'
import { Dict, PythonObject, Tuple, Undefined, orElse, type Arguments, type Value } from './values.ts'

/** The variables of a call, by parameter. Undefined for one without an argument. */
export type Bound = { name: string; value: Value | undefined; parameter: Parameter | undefined }

export class Macro extends PythonObject {
  readonly typeName = 'Macro'
  readonly name: string | undefined
  readonly #parameters: readonly Parameter[]
  readonly #used: ReadonlySet<string>
  override readonly call: (args: Arguments) => Value

  constructor(
    { name, parameters, body }: { name: string | undefined; parameters: readonly Parameter[]; body: Body },
    run: (bound: readonly Bound[]) => Value,
  ) {
    super()
    this.name = name
    this.#parameters = parameters
    this.#used = usedNames(body)
    this.call = args => run(this.#bind(args))
  }

  #takes(special: 'caller' | 'kwargs' | 'varargs'): boolean {
    return this.#used.has(special) && !this.#parameters.some(({ name }) => name === special)
  }

  #bind({ positional, named }: Arguments): Bound[] {
    const parameters = this.#parameters
    const shown = this.name === undefined ? 'None' : `'${this.name}'`
    const rest = new Map(named)
    const bound: Bound[] = parameters.map((parameter, i) => {
      const { name } = parameter
      const value = i < positional.length ? positional[i] : rest.get(name)
      if (i >= positional.length) rest.delete(name)
      return { name, value, parameter }
    })
    if (this.#takes('caller')) {
      bound.push({
        name: 'caller',
        value: orElse(rest.get('caller'), () => new Undefined('No caller defined')),
        parameter: undefined,
      })
      rest.delete('caller')
    }
    if (this.#takes('kwargs')) bound.push({ name: 'kwargs', value: new Dict(rest), parameter: undefined })
    else if (rest.size > 0)
      throw new TemplateError(`macro ${shown} takes no keyword argument '${[...rest.keys()][0]}'`)
    const others = positional.slice(parameters.length)
    if (this.#takes('varargs'))
      bound.push({ name: 'varargs', value: new Tuple(others), parameter: undefined })
    else if (others.length > 0)
      throw new TemplateError(`macro ${shown} takes not more than ${parameters.length} argument(s)`)
    return bound
  }

  override attribute(name: string): Value | undefined {
    switch (name) {
      case 'name':
        return this.name ?? null
      case 'arguments':
        return new Tuple(this.#parameters.map(parameter => parameter.name))
      case 'caller':
        return this.#takes('caller')
      case 'catch_kwargs':
        return this.#takes('kwargs')
      case 'catch_varargs':
        return this.#takes('varargs')
      default:
        return undefined
    }
  }

  override get shown(): string {
    return this.name === undefined ? '<Macro anonymous>' : `<Macro '${this.name}'>`
  }
}
