/** `map`, `select`, `reject` and their forms with an attribute. */
import { NO_ARGUMENTS, textArgument } from '../arguments.ts'
import { TemplateError } from '../errors.ts'
import { truth } from '../comparison.ts'
import type { Runtime } from '../values.ts'
import { Stream, type Arguments, type Value } from '../values.ts'
import { attributeGetter, type Filter } from './define.ts'
import { each } from './sequences.ts'

/** The first argument as the name of a filter or test, and the arguments behind it. */
function named(
  { positional: [name, ...rest], named: given }: Arguments,
  filter: string,
): [string, Arguments] {
  if (name === undefined) throw new TemplateError(`${filter} requires a filter argument`)
  return [textArgument(filter, name), { positional: rest, named: given }]
}

function mapper(args: Arguments, runtime: Runtime): (item: Value) => Value {
  if (args.positional.length > 0 || !args.named.has('attribute')) {
    const [name, rest] = named(args, 'map')
    return item => runtime.callFilter(name, item, rest)
  }
  const stranger = [...args.named.keys()].find(key => key !== 'attribute' && key !== 'default')
  if (stranger !== undefined) throw new TemplateError(`Unexpected keyword argument '${stranger}'`)
  return attributeGetter(args.named.get('attribute'), runtime, args.named.get('default'))
}

function* mapped(value: Value, args: Arguments, runtime: Runtime): Generator<Value> {
  if (!truth(value)) return
  const map = mapper(args, runtime)
  for (const item of each(value)) {
    runtime.budget.spend(1)
    yield map(item)
  }
}

/** The test that decides about an item: by default its truth. */
function tester(args: Arguments, runtime: Runtime): (item: Value) => boolean {
  if (args.positional.length === 0) return truth
  const [name, rest] = named(args, 'select')
  return item => runtime.callTest(name, item, rest)
}

function* selected(
  value: Value,
  args: Arguments,
  runtime: Runtime,
  { isWanted, hasAttribute }: { isWanted: boolean; hasAttribute: boolean },
): Generator<Value> {
  if (!truth(value)) return
  const [attribute, ...rest] = args.positional
  if (hasAttribute && attribute === undefined) throw new TemplateError('Missing parameter for attribute name')
  const get = hasAttribute ? attributeGetter(attribute, runtime) : (item: Value) => item
  const test = tester(hasAttribute ? { positional: rest, named: args.named } : args, runtime)
  for (const item of each(value)) {
    runtime.budget.spend(1)
    if (test(get(item)) === isWanted) yield item
  }
}

const selection = (name: string, isWanted: boolean, hasAttribute: boolean): [string, Filter] => [
  name,
  (value, args = NO_ARGUMENTS, runtime) =>
    new Stream(selected(value, args, runtime, { isWanted, hasAttribute })),
]

export const SELECTION_FILTERS: readonly [string, Filter][] = [
  ['map', (value, args, runtime) => new Stream(mapped(value, args, runtime))],
  selection('reject', false, false),
  selection('rejectattr', false, true),
  selection('select', true, false),
  selection('selectattr', true, true),
]
