/** `object.name` and `object[key]` as the sandbox of transformers has them. */
import { DICT_METHODS, LIST_METHODS, MUTATING, TUPLE_METHODS } from './methods/container-methods.ts'
import { markupMethod } from './methods/markup-methods.ts'
import { FLOAT_METHODS, INTEGER_METHODS, numberAttribute } from './methods/number-methods.ts'
import { bound, type Method } from './methods/table.ts'
import { TEXT_METHODS } from './methods/text-methods.ts'
import type { Runtime } from './values.ts'
import { itemAt, listOf } from './sequences.ts'
import { stringRepr, repr } from './text/print.ts'
import {
  Dict,
  DictView,
  Markup,
  PythonObject,
  Range,
  Tuple,
  Undefined,
  describeObject,
  isText,
  orElse,
  textOf,
  typeName,
  type Value,
} from './values.ts'

/** `object.name`: the attribute comes first, then the item. */
export function attributeOf(object: Value, name: string, runtime: Runtime): Value {
  if (object instanceof Undefined) return object.fail()
  return orElse(attribute(object, name, runtime), () =>
    orElse(itemAt(object, name), () => missing(object, name)),
  )
}

/** `object[key]`: the item comes first, then the attribute. */
export function subscript(object: Value, key: Value, runtime: Runtime): Value {
  const item = itemAt(object, key)
  if (item !== undefined) return item
  if (isText(key)) {
    return orElse(attribute(object, textOf(key), runtime), () => missing(object, key))
  }
  return missing(object, key)
}

function attribute(object: Value, name: string, runtime: Runtime): Value | undefined {
  const hidden = unsafe(object, name)
  return hidden === undefined ? ownAttribute(object, name, runtime) : hidden
}

/** Undefined values keep the reason for when they are used. */
function missing(object: Value, key: Value): Undefined {
  return new Undefined(
    isText(key)
      ? `'${describeObject(object)}' has no attribute ${stringRepr(textOf(key))}`
      : `${describeObject(object)} has no element ${key instanceof PythonObject ? typeName(key) : repr(key)}`,
  )
}

/** Attributes that Python has and the sandbox hides: private ones, and methods that change the object. */
function unsafe(object: Value, name: string): Undefined | undefined {
  const mutates =
    (Array.isArray(object) && MUTATING.list.includes(name)) ||
    (object instanceof Dict && MUTATING.dict.includes(name))
  const isInternal = name.startsWith('__') && name.endsWith('__') && INTERNAL.includes(name)
  if (!mutates && !isInternal) return undefined
  return new Undefined(`access to attribute ${stringRepr(name)} of '${typeName(object)}' object is unsafe.`)
}

/** What every object of Python has. Templates see an undefined value. */
const INTERNAL: readonly string[] = [
  '__class__',
  '__delattr__',
  '__dict__',
  '__dir__',
  '__doc__',
  '__eq__',
  '__format__',
  '__ge__',
  '__getattribute__',
  '__gt__',
  '__hash__',
  '__init__',
  '__init_subclass__',
  '__le__',
  '__lt__',
  '__module__',
  '__ne__',
  '__new__',
  '__reduce__',
  '__reduce_ex__',
  '__repr__',
  '__setattr__',
  '__sizeof__',
  '__str__',
  '__subclasshook__',
]

function ownAttribute(object: Value, name: string, runtime: Runtime): Value | undefined {
  const pick = <Self>(methods: ReadonlyMap<string, Method<Self>>, self: Self) => {
    const found = methods.get(name)
    return found && bound(name, self, found)
  }
  if (typeof object === 'string') return pick(TEXT_METHODS, object)
  if (object instanceof Dict) return pick(DICT_METHODS, object)
  if (Array.isArray(object)) return pick(LIST_METHODS, object as readonly Value[])
  if (object instanceof Markup) return markupMethod(object, name)
  if (object instanceof PythonObject) return object.attribute(name, runtime)
  if (object instanceof Tuple)
    return object.names.includes(name)
      ? object.items[object.names.indexOf(name)]
      : pick(TUPLE_METHODS, object.items)
  if (object instanceof Range) return rangeAttribute(object, name) ?? pick(TUPLE_METHODS, listOf(object))
  if (object instanceof DictView) return undefined
  if (typeof object === 'number') return numberAttribute(object, name) ?? pick(FLOAT_METHODS, object)
  if (typeof object === 'bigint' || typeof object === 'boolean') {
    const value = BigInt(object)
    return numberAttribute(value, name) ?? pick(INTEGER_METHODS, value)
  }
  return undefined
}

const rangeAttribute = (range: Range, name: string): Value | undefined =>
  name === 'start' || name === 'stop' || name === 'step' ? range[name] : undefined
