/** Methods of Python's `dict`, `list`, `tuple` and `range`. None of them changes its object. */
import { integerOr, required } from '../arguments.ts'
import { TemplateError } from '../errors.ts'
import { equals } from '../comparison.ts'
import { listOf } from '../sequences.ts'
import { Dict, DictView, type Value } from '../values.ts'
import { method, type Method } from './table.ts'

export const DICT_METHODS: ReadonlyMap<string, Method<Dict>> = new Map([
  ['copy', method<Dict>('copy', [], dict => new Dict(dict.entries()))],
  ['fromkeys', method<Dict>('fromkeys', ['iterable', 'value'], (_dict, given) => dictFromKeys(given))],
  [
    'get',
    method<Dict>('get', ['key', 'default'], (dict, [key, otherwise]) => {
      const sought = required('get', 'key', key)
      return dict.has(sought) ? (dict.get(sought) ?? null) : (otherwise ?? null)
    }),
  ],
  ['items', method<Dict>('items', [], dict => new DictView(dict, 'items'))],
  ['keys', method<Dict>('keys', [], dict => new DictView(dict, 'keys'))],
  ['values', method<Dict>('values', [], dict => new DictView(dict, 'values'))],
])

/** Methods that change a list or a dict. The sandbox of transformers forbids them. */
export const MUTATING: Readonly<Record<'dict' | 'list', readonly string[]>> = {
  dict: ['clear', 'pop', 'popitem', 'setdefault', 'update'],
  list: ['append', 'clear', 'pop', 'reverse', 'insert', 'sort', 'extend', 'remove'],
}

export function dictFromKeys([keys, value]: readonly (Value | undefined)[]): Dict {
  return new Dict(listOf(required('fromkeys', 'iterable', keys)).map(key => [key, value ?? null]))
}

const count = method<readonly Value[]>('count', ['value'], (items, [value]) => {
  const sought = required('count', 'value', value)
  return BigInt(items.filter(item => equals(item, sought)).length)
})

const index = method<readonly Value[]>('index', ['value', 'start', 'stop'], (items, [value, start, stop]) => {
  const sought = required('index', 'value', value)
  const bound = (given: Value | undefined, otherwise: number) => {
    const at = integerOr('index', given, otherwise)
    return at < 0 ? Math.max(at + items.length, 0) : at
  }
  const from = bound(start, 0)
  const to = bound(stop, items.length)
  const at = items.findIndex((item, i) => i >= from && i < to && equals(item, sought))
  if (at < 0) throw new TemplateError('the value is not in the list')
  return BigInt(at)
})

const SEQUENCE_METHODS: [string, Method<readonly Value[]>][] = [
  ['count', count],
  ['index', index],
]
export const TUPLE_METHODS: ReadonlyMap<string, Method<readonly Value[]>> = new Map(SEQUENCE_METHODS)
export const LIST_METHODS: ReadonlyMap<string, Method<readonly Value[]>> = new Map([
  ...SEQUENCE_METHODS,
  ['copy', method<readonly Value[]>('copy', [], items => [...items])],
])
