/** Methods of built-in types, as tables by name. */
import { bind } from '../arguments.ts'
import { TemplateError } from '../errors.ts'
import type { Runtime } from '../values.ts'
import { PythonFunction, type Arguments, type Value } from '../values.ts'

export type Method<Self> = (self: Self, args: Arguments, runtime: Runtime) => Value

/** A method with parameters, of which those not given are undefined. */
export const method =
  <Self>(
    name: string,
    parameters: readonly string[],
    run: (self: Self, given: readonly (Value | undefined)[], runtime: Runtime) => Value,
  ): Method<Self> =>
  (self, args, runtime) =>
    run(self, bind(name, parameters, args), runtime)

/** A method of Python that templates cannot call here. */
export const unsupported =
  <Self>(name: string): Method<Self> =>
  () => {
    throw new TemplateError(`the method ${name}() is not supported`)
  }

/** The method, bound to its object. */
export const bound = <Self>(name: string, self: Self, run: Method<Self>): PythonFunction =>
  new PythonFunction(name, (args, runtime) => run(self, args, runtime), 'builtin_function_or_method')
