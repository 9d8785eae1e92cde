/** Jinja2's tests: `value is name(…)`. */
import { bind, required } from './arguments.ts'
import { TemplateError } from './errors.ts'
import { FILTERS } from './filters/table.ts'
import { compare, equals, numberOf } from './comparison.ts'
import { binary } from './operations.ts'
import type { Runtime } from './values.ts'
import { contains, iteratorOf, lengthOf } from './sequences.ts'
import { isLower, isUpper } from './text/case.ts'
import { printed } from './text/print.ts'
import {
  Dict,
  DictView,
  Markup,
  PythonObject,
  Stream,
  Undefined,
  isText,
  textOf,
  type Arguments,
  type Value,
} from './values.ts'

type Test = (value: Value, args: Arguments, runtime: Runtime) => boolean

const plain = (name: string, run: (value: Value) => boolean): [string, Test] => [
  name,
  (value, args) => {
    bind(name, [], args)
    return run(value)
  },
]

/** A test with one argument, under all of its names. */
const withOther = (
  names: readonly string[],
  run: (value: Value, other: Value, runtime: Runtime) => boolean,
): [string, Test][] =>
  names.map(name => [
    name,
    (value, args, runtime) => {
      const [other] = bind(name, ['other'], args)
      return run(value, required(name, 'other', other), runtime)
    },
  ])

const remainder = (value: Value, divisor: Value, runtime: Runtime): Value =>
  binary('%', value, divisor, runtime)

const parity = (name: string, rest: bigint): [string, Test] => [
  name,
  (value, args, runtime) => {
    bind(name, [], args)
    return equals(remainder(value, 2n, runtime), rest)
  },
]

/** Has a length and items by index. */
const isSequence = (value: Value): boolean =>
  lengthOf(value) !== undefined && !(value instanceof DictView) && !(value instanceof PythonObject)

const isIterable = (value: Value): boolean =>
  iteratorOf(value) !== undefined || (value instanceof PythonObject && value.typeName === 'LoopContext')

const isCallable = (value: Value): boolean =>
  value instanceof Undefined || (value instanceof PythonObject && value.call !== undefined)

/** Whether the name is in a table, for values that a table can hold. */
function isKey(table: ReadonlyMap<string, unknown>, value: Value): boolean {
  if (isText(value)) return table.has(textOf(value))
  if (Array.isArray(value) || value instanceof Dict) throw new TemplateError('unhashable type in a test')
  return false
}

export const TESTS: ReadonlyMap<string, Test> = new Map<string, Test>([
  parity('odd', 1n),
  parity('even', 0n),
  ...withOther(['divisibleby'], (value, other, runtime) => equals(remainder(value, other, runtime), 0n)),
  plain('defined', value => !(value instanceof Undefined)),
  plain('undefined', value => value instanceof Undefined),
  plain('filter', value => isKey(FILTERS, value)),
  plain('test', value => isKey(TESTS, value)),
  plain('none', value => value === null),
  plain('boolean', value => typeof value === 'boolean'),
  plain('false', value => value === false),
  plain('true', value => value === true),
  plain('integer', value => typeof value === 'bigint'),
  plain('float', value => typeof value === 'number'),
  plain('number', value => numberOf(value) !== undefined),
  plain('lower', value => isLower(printed(value))),
  plain('upper', value => isUpper(printed(value))),
  plain('string', isText),
  plain('mapping', value => value instanceof Dict),
  plain('sequence', isSequence),
  plain('iterable', value => value instanceof Stream || isIterable(value)),
  plain('callable', isCallable),
  plain('escaped', value => value instanceof Markup),
  ...withOther(['sameas'], (value, other) => value === other),
  ...withOther(['in'], (value, other) => contains(other, value)),
  ...withOther(['==', 'eq', 'equalto'], equals),
  ...withOther(['!=', 'ne'], (value, other) => !equals(value, other)),
  ...withOther(['>', 'gt', 'greaterthan'], (value, other) => compare(value, other, '>') > 0),
  ...withOther(['>=', 'ge'], (value, other) => compare(value, other, '>=') >= 0),
  ...withOther(['<', 'lt', 'lessthan'], (value, other) => compare(value, other) < 0),
  ...withOther(['<=', 'le'], (value, other) => compare(value, other, '<=') <= 0),
])
